"""Runs as trees."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Batch
from openclaw_workers.views.trees import build_trees, find_node, tree_json

ROOT = "agent:main:main"


def run(name: str, at: int, **more: Any) -> Run:
    given = {"id": f"run-{name}", "session_key": ROOT, "state": "ok", "queued_at": at, "ended_at": at + 1000, **more}
    return Run.model_validate(given)


def child(name: str, at: int, of: str, batch: str, **more: Any) -> Run:
    session = f"agent:main:subagent:{name}"
    given = {"session_key": session, "label": name, "parent_run_id": f"run-{of}", "batch": batch, "settled_at": at + 9}
    return run(name, at, **{**given, **more})


def batch(name: str, state: str, **more: Any) -> dict[BatchId, Batch]:
    given = {"parent_session": ROOT, "parent_session_id": "sid", "parent_run": "run-root", "root": ROOT}
    record = {"id": name, "state": state, "mode": "batch", "members": [], "created_at": 1, **given, **more}
    return {BatchId(name): Batch.model_validate(record)}


TREE = [
    child("b", 3, "root", "batch-1", batch_index=1),
    run("root", 1),
    child("deep", 4, "a", "batch-2"),
    child("a", 3, "root", "batch-1"),
    run("reply", 9, covers=["announce-batch-1"]),
]


def test_children_are_below_their_parent_and_the_reply_follows_them() -> None:
    (top,) = build_trees(TREE, {})

    assert [(node.run.id, node.is_reply) for node in top.children] == [
        ("run-a", False),
        ("run-b", False),
        ("run-reply", True),
    ]


def test_a_turn_for_a_persons_message_is_not_a_reply_even_if_results_joined_it() -> None:
    talk = run("talk", 9, covers=["msg-1", "announce-batch-1"])
    assert [top.run.id for top in build_trees([*TREE[:4], talk], {})] == ["run-root", "run-talk"]


def test_a_tree_has_settled_when_no_run_is_active_and_every_result_is_delivered() -> None:
    assert build_trees(TREE, batch("batch-1", "delivered"))[0].is_settled
    assert not build_trees(TREE, batch("batch-1", "settled"))[0].is_settled
    assert not build_trees([*TREE, child("c", 5, "root", "batch-3", settled_at=None)], {})[0].is_settled
    assert not build_trees([*TREE, child("c", 5, "a", "batch-3", state="parked")], {})[0].is_settled


def test_a_run_whose_parent_has_expired_is_the_root_of_its_own_tree() -> None:
    assert [top.run.id for top in build_trees([child("orphan", 1, "gone", "batch-9")], {})] == ["run-orphan"]


def test_a_node_is_found_at_any_depth_and_shown_with_its_subtree() -> None:
    tops = build_trees(TREE, batch("batch-1", "blocked"))
    found = find_node(tops, RunId("run-a"))
    assert found is not None
    facts = tree_json(found, now_ms=0)
    assert (facts["label"], facts["delivery"], facts["ageMs"]) == ("a", "blocked", 1000)
    assert [each["runId"] for each in facts["children"]] == ["run-deep"]
