"""Changing one setting in the text of a file."""

from __future__ import annotations

import pytest

from openclaw_workers.config.file_edit import parse_path, set_in_text
from openclaw_workers.config.schema_tree import dotted
from openclaw_workers.errors import BadInput

TEXT = """\
# My installation
agents:
  defaults:
    model: {primary: openai/gpt-5}  # the best one
    # how long it thinks
    thinkingDefault: high   # always
  list:
    - id: main
      name: Ada
lanes:
tools:
  web: {}
session:
  reset_triggers:
    - /new
    - /fresh
  # the end of session

budgets: {day: {cost: 5.0}}
"""


def changed(path: str, value: object) -> list[str]:
    """The lines that differ: without those that stay."""
    before, after = TEXT.splitlines(), set_in_text(TEXT, parse_path(path), value).splitlines()
    return [f"- {line}" for line in before if line not in after] + [f"+ {line}" for line in after if line not in before]


CASES: dict[str, tuple[str, object, list[str]]] = {
    "a value keeps its comment": (
        "agents.defaults.thinkingDefault",
        "off",
        ["-     thinkingDefault: high   # always", "+     thinkingDefault: 'off'   # always"],
    ),
    "a value in braces": (
        "agents.defaults.model.primary",
        "openai/gpt-5-mini",
        [
            "-     model: {primary: openai/gpt-5}  # the best one",
            "+     model: {primary: openai/gpt-5-mini}  # the best one",
        ],
    ),
    "a new key in braces": (
        "agents.defaults.model.fallbacks",
        ["a/b", "c/d"],
        [
            "-     model: {primary: openai/gpt-5}  # the best one",
            "+     model: {primary: openai/gpt-5, fallbacks: [a/b, c/d]}  # the best one",
        ],
    ),
    "a new key in empty braces": (
        "tools.web.search.maxResults",
        3,
        ["-   web: {}", "+   web: {search: {maxResults: 3}}"],
    ),
    "a new key in a block": ("agents.defaults.contextTokens", 9, ["+     contextTokens: 9"]),
    "below a key without a value": (
        "lanes.main.concurrency",
        2,
        ["+   main:", "+     concurrency: 2"],
    ),
    "a new section": ("cron.maxConcurrent", 1, ["+ cron:", "+   maxConcurrent: 1"]),
    "an entry of a list": ("agents.list[0].name", "Bo", ["-       name: Ada", "+       name: Bo"]),
    "a block, in another spelling": (
        "session.resetTriggers",
        ["/new"],
        ["-   reset_triggers:", "-     - /new", "-     - /fresh", "+   reset_triggers: [/new]"],
    ),
}


@pytest.mark.parametrize(("path", "value", "lines"), CASES.values(), ids=CASES.keys())
def test_only_the_setting_changes(path: str, value: object, lines: list[str]) -> None:
    assert changed(path, value) == lines


def test_an_empty_file_gets_its_first_setting() -> None:
    assert set_in_text("", ("a", "b"), 1) == "a:\n  b: 1\n"
    assert set_in_text("# only a comment", ("a",), [1]) == "# only a comment\na: [1]\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [("a: word\n", "a.b"), ("a: &x {b: 1}\nc: *x\n", "c.b"), ("- 1\n", "a"), ("a: [1]\n", "a[3]"), ("a: [", "a")],
)
def test_what_would_touch_other_settings_is_refused(text: str, path: str) -> None:
    with pytest.raises(BadInput, match="cannot be changed"):
        set_in_text(text, parse_path(path), 2)


@pytest.mark.parametrize("path", ["a.b", 'a["b c"].d', "a[0].b", 'a["x.y"]'])
def test_a_path_is_read_as_it_is_printed(path: str) -> None:
    assert dotted(parse_path(path)) == path


@pytest.mark.parametrize("path", ["", ".a", "a b", "a."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        parse_path(path)
