"""The checker of documented JSON fields finds differences."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli_docs import HEADING, CliDocs

TABLES = f"""
{HEADING}

| command | fields |
| --- | --- |
| `list`, `all` | `ok`, `runs[]: run` (the newest (and only) ones, with `this`) |
| `log` | an array: `…[]: entry` |

| shape | fields |
| --- | --- |
| run | `…: id`, `label?`, `usage: usage`, `more: object` |
| id | `runId` |
| usage | `total` |
| entry user | `role`, `ids[]` |
"""
RUN = {"runId": "r", "usage": {"total": 1}, "more": {"x": [1]}}


def problems(command: str, answer: Any) -> list[str]:
    return list(CliDocs(TABLES).problems(command, answer))


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        ({}, None),
        ({"label": "x"}, None),
        ({"usage": None}, None),
        ({"new": 1}, "`list` runs[].new is not documented"),
        ({"usage": {"total": 1, "new": 1}}, "`list` runs[].usage.new is not documented"),
        ({"usage": {}}, "`list` runs[].usage.total is missing"),
        ({"usage": 1}, "`list` runs[].usage is no object: 1"),
        ({"runId": {"x": 1}}, "`list` runs[].runId is not what is documented: {'x': 1}"),
    ],
)
def test_a_difference_is_reported_by_its_path(run: dict[str, Any], problem: str | None) -> None:
    assert problems("list", {"ok": True, "runs": [{**RUN, **run}]}) == ([problem] if problem else [])


def test_a_missing_field_or_another_type_is_reported() -> None:
    assert problems("all", {"ok": True}) == ["`all` runs is missing"]
    assert problems("list", {"ok": True, "runs": [{"runId": "r", "more": {}}]}) == ["`list` runs[].usage is missing"]
    assert problems("list", {"ok": True, "runs": None}) == ["`list` runs is no list: None"]
    assert problems("log", [{"role": "user", "ids": ["m"]}]) == []
    assert problems("log", [{"role": "other"}]) == ["`log` [] has the undocumented shape 'entry other'"]


def test_a_field_that_no_answer_has_is_reported() -> None:
    docs = CliDocs(TABLES)

    assert list(docs.problems("list", {"ok": True, "runs": [RUN]})) == []
    assert docs.never_seen() == ["`all` ok", "`all` runs", "run label", "entry user role", "entry user ids"]
