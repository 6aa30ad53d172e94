"""`sessions_spawn`: its parameters, its checks in their order, its limits, and repeats after a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import (
    ToolResultEntry,
)
from openclaw_workers.domain.tree import AnnounceMode, BatchState, Cleanup, Role, SpawnMode
from openclaw_workers.engine.tree.child import DEFAULT_LABEL
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.spawn_steps import nested, with_subagents
from tests.component.engine.tree_builder import (
    CHILD,
    announces,
    answers,
    ask,
    child,
    children,
    first_turn,
    pending,
    row,
    settle,
    text,
)
from tests.support.programs import call, say, spawn


def test_the_answer_comes_at_once_and_says_all_there_is_to_know(engine: EngineHarness) -> None:
    answer = ask(engine)

    run = child(engine)
    assert run.state is RunState.QUEUED
    session_id = row(engine, run.session_key)["sessionId"]
    assert {key: answer[key] for key in answer if key != "note"} == {
        "status": "accepted",
        "accepted": True,
        "childSessionKey": run.session_key,
        "sessionKey": run.session_key,
        "childSessionId": session_id,
        "subSessionId": session_id,
        "runId": run.id,
        "subRunId": run.id,
        "lane": "subagent",
        "mode": "run",
        "depth": 1,
        "role": "orchestrator",
    }
    assert "by itself" in answer["note"]


def test_what_is_not_asked_for_has_its_default(engine: EngineHarness) -> None:
    ask(engine)

    run = child(engine)
    assert (run.spawn_mode, run.cleanup, run.announce) == (SpawnMode.RUN, Cleanup.KEEP, AnnounceMode.BATCH)
    assert (run.deliver, run.wake_on_descendant_settle, run.label) == (False, True, DEFAULT_LABEL)
    assert (run.timeout_ms, run.metadata, run.lane, run.kind) == (None, {}, Lane.SUBAGENT, "subagent")
    assert row(engine, run.session_key)["forkedFromParent"] == "false"


def test_the_record_knows_who_asked_and_the_row_whose_child_it_is(engine: EngineHarness) -> None:
    queued = engine.say(text(spawn(CHILD, label="one"), say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))

    run, parent = child(engine), engine.run_of(queued)
    assert run.requester_session_key == run.controller_session_key == run.root_session_key == SESSION
    assert run.requester_session_id == row(engine, SESSION)["sessionId"]
    assert run.parent_run_id == parent.id
    assert (run.depth, run.role) == (1, Role.ORCHESTRATOR)
    stored = row(engine, run.session_key)
    assert stored["spawnedBy"] == stored["rootSessionKey"] == SESSION
    assert (stored["spawnDepth"], stored["subagentRole"]) == ("1", "orchestrator")
    assert (stored["subagentControlScope"], stored["createdByRunId"]) == ("children", parent.id)
    assert stored["spawnedWorkspaceDir"] == "."


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"label": "fix it"}, "label", "fix it"),
        ({"runTimeoutSeconds": 7}, "timeout_ms", 7000),
        ({"timeoutSeconds": 7}, "timeout_ms", 7000),
        ({"runtime": "subagent"}, "spawn_mode", SpawnMode.RUN),
        ({"mode": "run"}, "spawn_mode", SpawnMode.RUN),
        ({"cleanup": "delete"}, "cleanup", Cleanup.DELETE),
        ({"announce": "each"}, "announce", AnnounceMode.EACH),
        ({"announce": "none"}, "announce", AnnounceMode.NONE),
        ({"announce": False}, "announce", AnnounceMode.NONE),
        ({"announce": True}, "announce", AnnounceMode.BATCH),
        ({"deliver": True}, "deliver", True),
        ({"wakeOnDescendantSettle": False}, "wake_on_descendant_settle", False),
        ({"metadata": {"ticket": 7, "why": ["a"]}}, "metadata", {"ticket": 7, "why": ["a"]}),
    ],
)
def test_each_parameter_is_kept_in_the_record(
    engine: EngineHarness, given: dict[str, Any], field: str, value: Any
) -> None:
    assert ask(engine, **given)["status"] == "accepted"
    assert getattr(child(engine), field) == value


def test_the_task_may_be_called_a_message(engine: EngineHarness) -> None:
    (answer,) = first_turn(engine, call({"tool": "sessions_spawn", "input": {"message": "count to three"}}))

    assert answer["status"] == "accepted"
    assert child(engine).task == "count to three"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"task": ""}, "task"),
        ({"runtime": "acp"}, "runtime"),
        ({"runTimeoutSeconds": -1}, "imeoutSeconds"),
        ({"cleanup": "burn"}, "cleanup"),
        ({"announce": "loudly"}, "announce"),
        ({"context": "all"}, "context"),
        ({"deliver": "yes"}, "deliver"),
        ({"colour": "red"}, "colour"),
        ({"attachments": [{"name": "a", "content": "not base64!"}]}, "base64"),
        ({"attachments": [{"name": "a", "content": ""}] * 51}, "50"),
        ({"runTimeoutSeconds": 10**18}, "imeoutSeconds"),
        ({"metadata": {"a": float("nan")}}, "finite"),
        ({"metadata": {"a": [float("inf")]}}, "finite"),
        ({"metadata": {"a": 10**400}}, "2^53"),
        ({"metadata": {"a": json.loads("[" * 30 + "]" * 30)}}, "nested"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_spawned(
    engine: EngineHarness, given: dict[str, Any], reported: str
) -> None:
    answer = ask(engine, **given)

    assert answer["status"] == "refused"
    assert reported in answer["error"]
    assert children(engine) == []


OTHER_AGENT = {"list": [{"id": "main"}, {"id": "coder"}]}


CHECKS: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("agent id", {}, {"agentId": "No Agent!"}, "error", "'No Agent!' is not an agent id"),
    ("not allowed", {"list": OTHER_AGENT["list"]}, {"agentId": "coder"}, "forbidden", "only main"),
    (
        "allowed but unknown",
        {"defaults": {"subagents": {"allowAgents": ["ghost"]}}},
        {"agentId": "ghost"},
        "forbidden",
        "not configured",
    ),
    ("unnamed", {"defaults": {"subagents": {"requireAgentId": True}}}, {}, "forbidden", "agentId is required"),
    (
        "sandbox",
        {
            "defaults": {"subagents": {"allowAgents": ["*"]}, "sandbox": {"mode": "all"}},
            "list": [{"id": "main"}, {"id": "coder", "sandbox": {"mode": "off"}}],
        },
        {"agentId": "coder"},
        "forbidden",
        "sandboxed",
    ),
    ("session without thread", {}, {"mode": "session"}, "error", "needs thread: true"),
    ("thread without session", {}, {"mode": "run", "thread": True}, "error", 'needs mode "session"'),
    ("thinking", {}, {"thinking": "hard"}, "error", "expected one of off, minimal"),
    ("model", {}, {"model": "nobody/none"}, "error", "nobody"),
    ("offline model", {}, {"model": "offline/scirpt"}, "error", "did you mean 'offline/script'?"),
    ("program", {}, {"model": "cli/gone"}, "error", "is not a model"),
    ("workspace", {}, {"workspaceDir": "../elsewhere"}, "error", "not inside the workspace"),
]


@pytest.mark.parametrize(
    ("agents", "given", "word", "reported"), [each[1:] for each in CHECKS], ids=[c[0] for c in CHECKS]
)
def test_each_check_has_its_word_and_a_message_to_act_on(
    make_engine: MakeEngine, agents: dict[str, Any], given: dict[str, Any], word: str, reported: str
) -> None:
    engine = make_engine({"agents": agents})

    answer = ask(engine, **given)

    assert (answer["status"], answer["accepted"]) == (word, False)
    assert reported in answer["error"]
    assert children(engine) == []


def test_a_call_that_is_refused_has_failed_for_all_to_see(engine: EngineHarness) -> None:
    first_turn(engine, call(*spawn(CHILD)["calls"], *spawn(CHILD, agentId="other")["calls"]))

    results = [entry for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    assert [(json.loads(each.content[0].text)["status"], each.is_error) for each in results] == [
        ("accepted", False),
        ("forbidden", True),
    ]
    ends = [event.data for event in engine.stores.reader.events(SESSION, "0") if event.type == "tool.ended"]
    assert [bool(each.get("error")) for each in ends] == [False, True]


def test_the_checks_are_made_in_the_articles_order(make_engine: MakeEngine) -> None:
    # Given an agent to whom everything is forbidden at once
    agents: dict[str, Any] = {
        "defaults": {
            "subagents": {"maxSpawnDepth": 1, "maxChildrenPerAgent": 1, "requireAgentId": False},
            "sandbox": {"mode": "all"},
        },
        "list": [{"id": "main"}, {"id": "coder", "sandbox": {"mode": "off"}, "subagents": {"maxSpawnDepth": 1}}],
    }
    wrong = {"agentId": "coder", "mode": "session", "thinking": "hard"}
    engine = make_engine({"agents": agents})

    # Then what is told first is the first in the list, and each thing put right tells the next
    assert "is not an agent id" in ask(engine, **{**wrong, "agentId": "?"})["error"]
    first_turn(engine, spawn(CHILD))
    engine.stores.sessions.patch(SESSION, {"spawnDepth": "1", "subagentRole": "orchestrator"})
    assert "is not an agent id" in first_turn(engine, spawn(CHILD, **{**wrong, "agentId": "?"}))[-1]["error"]
    assert "you are at depth 1" in first_turn(engine, spawn(CHILD, **wrong))[-1]["error"]
    engine.stores.sessions.patch(SESSION, {"spawnDepth": "0"})
    assert "sub-agents at work" in first_turn(engine, spawn(CHILD, **wrong))[-1]["error"]
    settle(engine)
    assert "you may not spawn agent" in first_turn(engine, spawn(CHILD, **wrong))[-1]["error"]
    agents["defaults"]["subagents"]["allowAgents"] = ["coder"]
    engine = make_engine({"agents": agents})
    assert "sandboxed" in first_turn(engine, spawn(CHILD, **wrong))[-1]["error"]
    agents["list"][1]["sandbox"] = {"mode": "all"}
    engine = make_engine({"agents": agents})
    assert "needs thread" in first_turn(engine, spawn(CHILD, **wrong))[-1]["error"]
    assert "is not a level" in first_turn(engine, spawn(CHILD, **{**wrong, "mode": "run"}))[-1]["error"]


def test_a_child_may_spawn_leaves_and_leaves_have_no_such_tool(engine: EngineHarness) -> None:
    answer = nested(engine)

    assert (answer["status"], answer["depth"], answer["role"]) == ("accepted", 2, "leaf")
    leaf = SessionKey(answer["childSessionKey"])
    assert row(engine, leaf)["subagentControlScope"] == "none"
    assert row(engine, leaf)["rootSessionKey"] == SESSION
    (run,) = children(engine, child(engine).session_key)
    assert run.root_session_key == SESSION


def test_max_spawn_depth_1_forbids_nesting(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(maxSpawnDepth=1))

    assert "there is no tool 'sessions_spawn'" in nested(engine)["error"]
    assert child(engine).role is Role.LEAF


def test_one_deeper_than_allowed_is_forbidden_with_both_numbers(make_engine: MakeEngine) -> None:
    # Given a child that may spawn by its role, under an agent whose limit was lowered meanwhile
    engine = make_engine(with_subagents(maxSpawnDepth=1))
    key = SessionKey("agent:main:subagent:one")
    engine.say("hello", key)
    engine.work()
    engine.stores.sessions.patch(key, {"spawnDepth": "1", "subagentRole": "orchestrator"})

    (answer,) = first_turn(engine, spawn(CHILD), key)

    assert answer["status"] == "forbidden"
    assert "depth 1" in answer["error"]
    assert "1 deep" in answer["error"]


def test_max_children_counts_those_at_work_and_not_those_done(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(maxChildrenPerAgent=2))

    reported = first_turn(engine, spawn(CHILD, CHILD, CHILD))
    assert [each["status"] for each in reported] == ["accepted", "accepted", "forbidden"]
    assert "may have 2" in reported[2]["error"]

    settle(engine)
    assert [each["status"] for each in first_turn(engine, spawn(CHILD))][-1] == "accepted"


def test_max_tree_runs_counts_the_whole_tree(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(maxTreeRuns=1))

    answer = nested(engine)

    assert answer["status"] == "forbidden"
    assert "this tree has 1" in answer["error"]


def crashed_after_spawning(engine: EngineHarness, count: int) -> RunId:
    """An owner that spawned, and died before it could write down what it was told."""
    queued = engine.say(text(spawn(*[CHILD] * count), say("spawned"), say("heard")))
    log, run = engine.stores.keys.log(SESSION), queued.run
    assert run is not None
    engine.runner.run(*engine.waker.turns.pop(0))
    while engine.log()[-1].role != "assistant" or not engine.log()[-1].tool_calls:  # type: ignore[union-attr]
        engine.stores.redis.rpop(log)
    crashed: dict[Any, Any] = {
        "state": "queued",
        "run": run,
        "resumed": "1",
        "run_key": engine.stores.keys.run(run),
        "started": "",
    }
    engine.stores.redis.hset(engine.stores.keys.ctl(SESSION), mapping=crashed)
    return run


def test_a_repeat_after_a_crash_is_not_counted_against_itself(make_engine: MakeEngine) -> None:
    # Given an owner that spawned as many as there may be and died
    engine = make_engine(with_subagents(maxChildrenPerAgent=2))
    run = crashed_after_spawning(engine, 2)
    before = [each.id for each in children(engine)]

    # When the next owner makes the calls again
    engine.runner.run(SESSION, run)

    # Then it is told what was true before, and there are no others
    assert [each["status"] for each in answers(engine)] == ["accepted", "accepted"]
    assert [each.id for each in children(engine)] == before


def test_a_repeat_after_a_crash_adds_nobody_to_a_batch_that_is_announced(make_engine: MakeEngine) -> None:
    """I4: what was refused stays refused, although its siblings are done and there is room again."""
    # Given an owner that asked for one more than there may be and died, and children that have reported since
    engine = make_engine(with_subagents(maxChildrenPerAgent=2))
    run = crashed_after_spawning(engine, 3)
    first, second = children(engine)
    for each in (first, second):
        engine.runner.run(each.session_key, each.id)
    assert [engine.announcer.announce(batch) for batch in pending(engine)] == [BatchState.DELIVERED]

    # When the next owner makes the calls again
    engine.runner.run(SESSION, run)
    settle(engine)

    # Then it is told what was true before, and hears of each child once
    assert [each["status"] for each in answers(engine)] == ["accepted", "accepted", "forbidden"]
    (announce,) = announces(engine)
    assert [announce.count(f"run: {each.id}") for each in (first, second)] == [1, 1]


@pytest.mark.parametrize("wrong", ["/etc", "a\0b", "~nobody-of-that-name/x"])
def test_a_wrong_workspace_refuses_one_call_and_not_its_siblings(engine: EngineHarness, wrong: str) -> None:
    step = call(
        {"tool": "sessions_spawn", "input": {"task": "x", "workspaceDir": wrong}},
        {"tool": "sessions_spawn", "input": {"task": "y"}},
    )

    assert [each["status"] for each in first_turn(engine, step)] == ["error", "accepted"]
