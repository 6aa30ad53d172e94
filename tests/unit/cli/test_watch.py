"""`ocw runs tree --watch` in a terminal: each frame replaces the last one and fits the terminal."""

from __future__ import annotations

import os
import shutil
from typing import Any

import click.utils
import pytest
from wcwidth import wcswidth

from openclaw_workers.cli.render import text
from openclaw_workers.cli.watch import CLEAR, draw_trees
from openclaw_workers.clock import now_ms
from openclaw_workers.views.trees import build_trees, tree_json
from tests.unit.views.test_trees import ROOT, child, run

CHILDREN = [child(f"child-{number}", 2, "root", "batch-1", batch_index=number) for number in range(1, 7)]


def trees(*labels: str) -> list[dict[str, Any]]:
    named = [child(label, 2, "root", "batch-1") for label in labels]
    return [tree_json(root, now_ms()) for root in build_trees([run("root", 1), *(named or CHILDREN)], {})]


def frame(
    tops: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    patch: pytest.MonkeyPatch,
    *,
    columns: int,
    lines: int,
) -> list[str]:
    patch.setattr(click.utils, "should_strip_ansi", lambda stream, color: False)  # as on a terminal
    patch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, lines)))
    draw_trees(tops)
    drawn = capsys.readouterr().out
    assert drawn.startswith(CLEAR)
    assert drawn.count(CLEAR) == 1
    return drawn.removeprefix(CLEAR).splitlines()


def test_a_tree_that_fits_is_shown_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    head, empty, columns, *rows = frame(trees(), capsys, monkeypatch, columns=200, lines=12)

    assert "7 runs, 0 not ended" in head
    assert head.endswith("(Ctrl-C leaves)")
    assert (empty, columns.split()[0]) == ("", "TREE")
    assert [row.split("  ")[0] for row in rows] == [ROOT, *(f"├─ child-{n}" for n in range(1, 6)), "└─ child-6"]


def test_a_tree_with_too_many_lines_is_cut_and_says_how_many_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = frame(trees(), capsys, monkeypatch, columns=200, lines=10)

    assert len(drawn) < 10, "the first line stays on the screen"
    assert [row.split("  ")[0] for row in drawn[3:]] == [ROOT, *(f"├─ child-{n}" for n in range(1, 5)), "… 2 more"]
    tiny = frame(trees(), capsys, monkeypatch, columns=200, lines=2)
    assert [row.split("  ")[0] for row in tiny[2:]] == ["TREE", ROOT, "├─ child-1", "… 5 more"]


def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = frame(trees("a", "慢慢数到三"), capsys, monkeypatch, columns=12, lines=24)

    assert [row.split("  ")[0] for row in drawn[2:]] == ["TREE", f"…{ROOT[-7:]}", "├─ a", "└─ 慢慢…"]
    assert max(wcswidth(row) for row in drawn) == 12, "a wide letter takes two columns"


def test_a_cut_heading_leaves_no_style_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "has_colour", lambda stream: True)

    drawn = frame(trees("a"), capsys, monkeypatch, columns=6, lines=24)

    assert drawn[2] == "\x1b[2mTREE  \x1b[0m"


def test_no_runs_are_reported_as_nothing_running(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert frame([], capsys, monkeypatch, columns=80, lines=24)[1:] == ["", "nothing is running"]
