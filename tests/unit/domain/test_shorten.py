"""Text that must fit."""

from __future__ import annotations

from openclaw_workers.domain.shorten import one_line, shorten


def test_a_text_that_is_too_long_ends_with_an_ellipsis_and_fits() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"
    assert shorten("a bcd", 3) == "a…"
    assert one_line(" a\n  b ") == "a b"
