"""Tables, times and colours."""

from __future__ import annotations

import io

import pytest

from openclaw_workers.cli.render.text import cost_of_calls, field_list, has_colour, printable, span, table


def test_columns_line_up_also_with_wide_characters() -> None:
    lines = table(("NAME", "N"), [("日本", 7), ("abcdef", 1234), ("", None)], right=["N"]).splitlines()

    assert lines == ["NAME       N", "日本       7", "abcdef  1234", "-          -"]


def test_a_field_list_leaves_out_empty_values_and_indents_long_ones() -> None:
    assert field_list([("a", 1), ("none", None), ("long", "two\nlines")]) == "a     1\nlong  two\n      lines"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(-5, "0ms"), (850, "850ms"), (4_200, "4.2s"), (42_000, "42s"), (720_000, "12m"), (3 * 3_600_000, "3h")]
    + [(9 * 86_400_000, "9d")],
)
def test_times_have_one_unit(milliseconds: float, text: str) -> None:
    assert span(milliseconds) == text


def test_a_cost_that_is_not_known_is_not_zero() -> None:
    assert cost_of_calls(0.0, 2, 0) == "$0.0000"
    assert cost_of_calls(0.0, 2, 2) == "unknown"
    assert cost_of_calls(0.5, 2, 1) == "$0.5000 + unknown"


def test_escape_codes_of_others_do_not_reach_the_terminal() -> None:
    assert printable("\x1b[31mred\x1b[0m \x1b]0;title\x07 tab\tline\n") == "red  tab\tline\n"


def test_colour_is_for_terminals_and_only_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert has_colour(Terminal())
    assert not has_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour(Terminal())
