"""Trees of runs as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from openclaw_workers.cli.render.subagents import delivery_word
from openclaw_workers.cli.render.trees import tree_text
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch
from openclaw_workers.views.trees import build_trees, tree_json
from tests.unit.views.test_trees import ROOT, TREE, batch, child


def drawn(runs: Sequence[Run], batches: dict[BatchId, Batch]) -> list[dict[str, Any]]:
    return [tree_json(root, now_ms()) for root in build_trees(runs, batches)]


def test_lines_show_which_run_belongs_to_which() -> None:
    roots = drawn(TREE, {})
    assert [line.split("  ")[0] for line in tree_text(roots).splitlines()[1:]] == [
        ROOT,
        "├─ a",
        "│",
        "├─ b",
        "└─ reply",
    ]
    assert "│  └─ deep" in tree_text(roots)


def test_a_line_shows_lane_age_tokens_cost_and_a_pending_result() -> None:
    usage = {"input": 1200, "output": 34}
    spent = child("a", 3, "root", "batch-1", lane="subagent", usage=usage, cost=0.0123, ended_at=4203)

    head, line = tree_text(drawn([spent], batch("batch-1", "settled"))).splitlines()

    assert head.split() == ["TREE", "STATE", "LANE", "HOST", "AGE", "TOKENS", "COST", "RESULT", "RUN"]
    assert line.split() == ["a", "ok", "subagent", "-", "4.2s", "1234", "$0.0123", "pending", "run-a"]


def test_a_tree_of_real_ids_fits_80_columns_and_keeps_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runs = [
        child(f"{number}0aabbccddeeff00", 3, "root", "batch-1", lane="subagent", cost=0.01, ended_at=4203)
        for number in (1, 2)
    ]
    text = tree_text(drawn(runs, batch("batch-1", "settled")))
    assert max(map(len, text.splitlines())) <= 80
    assert "run-10aabbcc" in text
    assert "run-20aabbcc" in text


def test_the_state_of_a_delivery_is_one_word() -> None:
    words = [delivery_word(state, 0) for state in (None, "running", "settled", "blocked")]
    assert words == ["", "", "pending", "blocked"]
    assert delivery_word("settled", 2) == "pending, 2 failed"
