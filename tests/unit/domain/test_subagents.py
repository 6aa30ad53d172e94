"""Which sub-agent a name means."""

from __future__ import annotations

from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.subagents import matching_subagents, spawn_order
from tests.unit.cli.test_find_subagents import child

RUNS = [child("1", "read"), child("2", "write", settled=False), child("3", "write"), child("6", "read", session="1")]


def ids(wanted: str, runs: list[Run] = RUNS) -> list[str]:
    return [run.id for run in matching_subagents(runs, wanted)]


def test_a_number_counts_from_one_and_may_have_a_hash() -> None:
    assert ids("3") == ids("#3") == ["run-3"]
    assert ids("0") == ids("5") == []


def test_a_run_id_means_that_run_and_a_session_its_newest_run() -> None:
    assert ids("run-1") == ["run-1"]
    assert ids("agent:main:subagent:1") == ids("READ") == ["run-6"]


def test_an_active_sub_agent_comes_before_those_that_have_ended() -> None:
    assert ids("write") == ["run-2"]


def test_a_label_of_several_sessions_finds_all_of_them() -> None:
    assert ids("twin", [child("1", "twin"), child("2", "twin")]) == ["run-1", "run-2"]


def test_calls_of_one_message_are_in_their_order() -> None:
    first = child("b", "x").model_copy(update={"queued_at": 5, "spawn_seq": 1})
    second = child("a", "y").model_copy(update={"queued_at": 5, "spawn_seq": 2})
    assert sorted([second, first], key=spawn_order) == [first, second]
