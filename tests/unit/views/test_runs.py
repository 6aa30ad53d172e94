"""A run as JSON."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.runs import Run
from openclaw_workers.views.answers import answer_json, answer_of_run
from openclaw_workers.views.runs import host_of, pick, run_json
from openclaw_workers.views.subagents import outcome_json, subagent_json
from tests.unit.views.test_trees import child, run

CHILD = child("a", 3, "root", "batch-1", text="done", usage={"input": 3, "output": 4}, cost=0.5)


def test_every_view_shows_the_same_values_of_a_run() -> None:
    whole = run_json(CHILD)
    subagent = subagent_json(CHILD, None, {CHILD.id: 7})
    answer = answer_json(answer_of_run(CHILD))
    for name in ("runId", "usage", "cost", "model"):
        assert whole[name] == subagent[name] == answer[name]
    assert subagent["childSessionKey"] == whole["sessionKey"] == answer["sessionKey"]
    assert subagent["createdAt"] == whole["queuedAt"]
    assert (subagent["number"], subagent["delivery"]) == (7, None)
    assert outcome_json(CHILD) == {name: subagent[name] for name in outcome_json(CHILD)}


def test_a_result_is_frozen_when_the_sub_agent_has_settled() -> None:
    unsettled = Run.model_validate({**CHILD.model_dump(), "settled_at": None})
    assert subagent_json(CHILD, None, {})["frozenResultText"] == "done"
    assert subagent_json(unsettled, None, {})["frozenResultText"] is None
    assert pick(unsettled, ["text"]) == {"text": "done"}


def test_a_failed_run_answers_with_its_error_and_what_to_look_at() -> None:
    failed = answer_json(answer_of_run(run("r", 1, state="error", error="no key")))
    assert (failed["ok"], failed["status"], failed["text"]) == (False, "error", "")
    assert failed["error"] == {"type": "RunFailed", "message": "no key", "hint": "`ocw runs show run-r` shows details"}


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ("auth", "`ocw init` sets another key"),
        ("billing", "check the credit"),
        ("model_not_found", "`ocw models list` shows"),
        ("rate_limit", "wait a few minutes"),
        ("context_overflow", "`/compact`"),
    ],
)
def test_a_failed_model_call_says_what_to_do(reason: str, step: str) -> None:
    failed = answer_of_run(run("r", 1, state="error", error="refused", reason=reason))
    hint = (failed.error or {})["hint"]
    assert str(hint).startswith(step)
    assert str(hint).endswith("`ocw runs show run-r` shows details")


def test_a_run_has_a_host_while_it_runs_and_after_it_has_ended() -> None:
    attempts = [{"worker": "host/1/a", "at": 1}]
    states = ("queued", "running", "parked", "ok")
    assert [host_of(run("r", 1, state=state, attempts=attempts)) for state in states] == ["", "host/1", "", "host/1"]
    assert host_of(run("r", 1)) == ""
