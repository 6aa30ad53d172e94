"""What models and tools write cannot steer a terminal, now or when a file is shown later."""

from __future__ import annotations

import pytest

from openclaw_workers.cli.render.escapes import MOST_HELD, EscapeFilter, strip_escapes

CODES = {
    "colour": "\x1b[1;31m",
    "colour with colons": "\x1b[38:2::1:2:3m",
    "cursor": "\x1b[2J\x1b[?25l",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://example.com\x1b\\",
    "clipboard": "\x1b]52;c;aGk=\x9c",
    "device control": "\x1bP1$r0m\x1b\\",
    "8-bit": "\x9b31m\x9d0;owned\x07",
    "reset": "\x1bc",
    "character set": "\x1b(0",
    "control": "\x00\x08\x7f\r",
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES.keys())
def test_codes_are_stripped_whole_and_in_pieces(code: str) -> None:
    text = f"before{code}after\tand\n more"
    assert strip_escapes(text) == "beforeafter\tand\n more"
    pieces = EscapeFilter()
    assert "".join(pieces.add(char) for char in text) == "beforeafter\tand\n more"


def test_a_code_that_never_ends_takes_no_more_than_its_line() -> None:
    assert strip_escapes("a\x1b]0;b\nc") == "a\nc"
    pieces = EscapeFilter()
    assert pieces.add("a\x1b]0;") == "a"
    assert pieces.add("b\nc") == "\nc"
    assert pieces.add("\x1b]" + "x" * MOST_HELD) == ""
    assert pieces.add("visible again") == "visible again"
