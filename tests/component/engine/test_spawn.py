"""`sessions_spawn`: its parameters, its checks in their order, its limits, its answer."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.prompt.texts import SPAWNED_WITHOUT_FORK
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import (
    CompactionEntry,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    dump_entry,
)
from openclaw_workers.domain.tree import AnnounceMode, BatchState, Cleanup, Role, SpawnMode
from openclaw_workers.engine.tree.child import DEFAULT_LABEL, MOST_FORKED_TOKENS
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.errors import ToolError
from openclaw_workers.store.reader import PAGE, Reader
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.sessions.spawn import SessionsSpawn
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.tree_builder import (
    CHILD,
    announces,
    answers,
    ask,
    child,
    children,
    first_turn,
    pending,
    reread,
    row,
    settle,
    text,
)
from tests.support.programs import call, program, say, spawn, write


def with_subagents(**keys: Any) -> dict[str, Any]:
    return {"agents": {"defaults": {"subagents": keys}}}


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
    ("given", "told"),
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
    engine: EngineHarness, given: dict[str, Any], told: str
) -> None:
    answer = ask(engine, **given)

    assert answer["status"] == "refused"
    assert told in answer["error"]
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


@pytest.mark.parametrize(("agents", "given", "word", "told"), [each[1:] for each in CHECKS], ids=[c[0] for c in CHECKS])
def test_each_check_has_its_word_and_a_message_to_act_on(
    make_engine: MakeEngine, agents: dict[str, Any], given: dict[str, Any], word: str, told: str
) -> None:
    engine = make_engine({"agents": agents})

    answer = ask(engine, **given)

    assert (answer["status"], answer["accepted"]) == (word, False)
    assert told in answer["error"]
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


def nested(engine: EngineHarness, **more: Any) -> dict[str, Any]:
    """What a child is told that spawns itself."""
    middle = program(spawn(CHILD, **more), say("waiting"), say("done"))
    engine.say(text(spawn(middle), say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))
    engine.runner.run(*engine.waker.turns.pop(0))
    parent = child(engine)
    (result,) = [entry for entry in engine.log(parent.session_key) if entry.role == "toolResult"]
    told = result.content[0].text
    return json.loads(told) if told.startswith("{") else {"error": told}


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

    told = first_turn(engine, spawn(CHILD, CHILD, CHILD))
    assert [each["status"] for each in told] == ["accepted", "accepted", "forbidden"]
    assert "may have 2" in told[2]["error"]

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


TWO_AGENTS = {"defaults": {"subagents": {"allowAgents": ["*"]}}, "list": [{"id": "main"}, {"id": "coder"}]}


@pytest.mark.parametrize("allowed", [["*"], ["coder"]])
def test_another_agent_does_it_where_that_is_allowed(make_engine: MakeEngine, allowed: list[str]) -> None:
    agents = {**TWO_AGENTS, "defaults": {"subagents": {"allowAgents": allowed}}}
    engine = make_engine({"agents": agents})

    answer = ask(engine, agentId="coder")

    assert answer["childSessionKey"].startswith("agent:coder:subagent:")
    stored = row(engine, SessionKey(answer["childSessionKey"]))
    assert "spawnedWorkspaceDir" not in stored
    settle(engine)
    assert child(engine).text == "child's word"
    assert (engine.loaded.state_dir / "workspace-coder").is_dir()


def test_a_child_of_an_agent_that_may_not_nest_is_a_leaf(make_engine: MakeEngine) -> None:
    """What it is told, the tools it has and what it may do agree."""
    coder = {"id": "coder", "subagents": {"maxSpawnDepth": 1}}
    engine = make_engine({"agents": {**TWO_AGENTS, "list": [{"id": "main"}, coder]}})

    answer = ask(engine, agentId="coder")

    assert answer["role"] == Role.LEAF
    engine.work()
    asked = engine.log(answer["childSessionKey"])[0].content[0].text  # type: ignore[union-attr]
    assert "at depth 1 of 1" in asked
    assert "You cannot start sub-agents" in asked


def test_naming_oneself_is_always_allowed(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(requireAgentId=True))
    assert ask(engine, agentId="main")["status"] == "accepted"


def choices(engine: EngineHarness) -> tuple[str, str, str]:
    stored = row(engine, child(engine).session_key)
    return stored.get("providerOverride", ""), stored.get("modelOverride", ""), stored.get("thinkingLevel", "")


def test_model_and_thinking_of_children_by_configuration(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model="offline/demo", thinking="low"))
    ask(engine)
    assert choices(engine) == ("offline", "demo", "low")
    engine.work()
    assert child(engine).model == "offline/demo"


@pytest.mark.parametrize(
    ("model", "answered"),
    [
        ({"primary": "offline/script", "fallbacks": ["offline/demo"]}, "offline/demo"),
        ({"fallbacks": ["offline/demo"]}, "offline/demo"),
        ({"primary": "offline/script", "fallbacks": []}, None),
        ({"primary": "offline/script"}, None),
    ],
)
def test_children_have_the_fallbacks_that_are_configured_for_them(
    make_engine: MakeEngine, model: dict[str, Any], answered: str | None
) -> None:
    engine = make_engine(with_subagents(model=model))
    ask(engine, task=program({"fail": "auth"}))
    engine.work()

    run = child(engine)
    if answered:
        assert (run.state, run.model, run.fallback_from) == (RunState.OK, answered, "offline/script")
    else:
        assert run.state is RunState.ERROR


def test_the_fallbacks_of_children_are_not_those_of_the_main_session(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model={"primary": "offline/script", "fallbacks": ["offline/demo"]}))
    queued = engine.say(text({"fail": "auth"}))
    engine.work()

    assert engine.run_of(queued).state is RunState.ERROR


def test_a_call_overrides_what_is_configured_for_children(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(model="offline/demo", thinking="low"))
    ask(engine, model="offline/script", thinking="high")
    assert choices(engine) == ("offline", "script", "high")


def test_an_agents_own_setting_for_its_children_goes_first(make_engine: MakeEngine) -> None:
    defaults = {"subagents": {"model": "offline/demo", "thinking": "low"}}
    own = {"id": "main", "subagents": {"thinking": "medium"}}
    engine = make_engine({"agents": {"defaults": defaults, "list": [own]}})
    ask(engine)
    assert choices(engine) == ("offline", "demo", "medium")


def test_a_child_of_the_same_agent_inherits_what_its_parents_session_chose(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    engine.stores.sessions.patch(
        SESSION, {"providerOverride": "offline", "modelOverride": "script", "thinkingLevel": "high"}
    )
    ask(engine)
    assert choices(engine) == ("offline", "script", "high")


def test_a_child_of_another_agent_inherits_no_choice(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": TWO_AGENTS})
    engine.say("hello")
    engine.work()
    engine.stores.sessions.patch(SESSION, {"thinkingLevel": "high"})
    ask(engine, agentId="coder")
    assert choices(engine) == ("", "", "")


def test_the_timeout_of_children_by_configuration_and_by_call(make_engine: MakeEngine) -> None:
    engine = make_engine(with_subagents(runTimeoutSeconds=9))
    told = call(
        {"tool": "sessions_spawn", "input": {"task": "x"}},
        {"tool": "sessions_spawn", "input": {"task": "y", "runTimeoutSeconds": 3}},
        {"tool": "sessions_spawn", "input": {"task": "z", "timeoutSeconds": 0}},
    )
    first_turn(engine, told)
    assert [run.timeout_ms for run in children(engine)] == [9000, 3000, None]

    engine.runner.run(*engine.waker.turns.pop(0))
    first = reread(engine, children(engine)[0])
    assert first.deadline_at is not None
    assert first.started_at is not None
    assert first.deadline_at - first.started_at == 9000


@pytest.mark.parametrize("config", [with_subagents(maxConcurrent=1), {"lanes": {"subagent": {"maxConcurrent": 1}}}])
def test_max_concurrent_caps_the_lane(make_engine: MakeEngine, config: dict[str, Any]) -> None:
    # Given two children where one may work at a time
    engine = make_engine(config)
    first_turn(engine, spawn(CHILD, CHILD))
    one, two = children(engine)
    freshness = engine.built.resets.times(one.session_key)
    taken = engine.turns.take(
        one.session_key, one.id, one.lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
    )
    assert isinstance(taken, Taken)
    engine.waker.turns.clear()

    # Then the second stands in line, holding nobody
    assert engine.runner.run(two.session_key, two.id) is None
    assert reread(engine, two).state is RunState.QUEUED
    assert engine.stores.redis.zrange(engine.stores.keys.line(Lane.SUBAGENT), 0, -1) == [f"{two.id} {two.session_key}"]

    # And it is woken when the first is done
    engine.control.stop_session(one.session_key)
    engine.turns.release(taken.lease)
    engine.runner.run(one.session_key, one.id)
    assert (two.session_key, two.id) in engine.waker.turns
    settle(engine)
    assert [run.state for run in children(engine)] == [RunState.KILLED, RunState.OK]


def test_a_child_works_in_its_parents_directory_or_inside_it(engine: EngineHarness) -> None:
    task = program(call(write("made.txt", "x")), say("made"))
    ask(engine, task=task, workspaceDir="part")
    engine.work()
    assert (engine.loaded.state_dir / "workspace" / "part" / "made.txt").read_text() == "x"


def test_a_grandchild_inherits_the_directory_its_parent_was_given(engine: EngineHarness) -> None:
    leaf = program(call(write("deep.txt", "x")), say("made"))
    ask(engine, task=program(spawn(leaf), say("waiting"), say("done")), workspaceDir="part")
    settle(engine)
    assert (engine.loaded.state_dir / "workspace" / "part" / "deep.txt").exists()


def test_a_fork_begins_with_the_conversation_and_without_the_message_that_spawns(engine: EngineHarness) -> None:
    engine.say("remember: the word is plum")
    engine.work()

    answer = ask(engine, context="fork")

    assert SPAWNED_WITHOUT_FORK not in answer["note"]
    run = child(engine)
    assert row(engine, run.session_key)["forkedFromParent"] == "true"
    entries = engine.log(run.session_key)
    assert [entry.role for entry in entries] == ["user", "assistant", "user"]
    engine.work()
    assert reread(engine, run).state is RunState.OK
    assert [entry.role for entry in engine.log(run.session_key)][3:] == ["user", "assistant"]


def test_a_fork_of_a_compacted_conversation_begins_with_its_summary(engine: EngineHarness) -> None:
    """What the parent itself no longer sees counts for nothing."""
    engine.say("hello")
    engine.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    summed_up = CompactionEntry(summary="they greeted each other")
    engine.stores.redis.rpush(engine.stores.keys.log(SESSION), dump_entry(long), dump_entry(summed_up))

    answer = ask(engine, context="fork")

    assert SPAWNED_WITHOUT_FORK not in answer["note"]
    log = engine.log(child(engine).session_key)
    assert [entry.role for entry in log] == ["compaction", "user"]


def test_a_fork_reads_no_further_back_than_could_be_handed_on(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transcript of a busy session is far longer than what any model is shown of it."""
    engine.say("hello")
    engine.work()
    log = engine.stores.keys.log(SESSION)
    part = dump_entry(UserEntry(content=[TextBlock(text="word " * (MOST_FORKED_TOKENS // 50))]))
    engine.stores.redis.lpush(log, *[part] * 4 * PAGE)
    read, transcript = [], Reader.transcript

    def noted(reader: Reader, *args: Any) -> list[TranscriptEntry]:
        entries = transcript(reader, *args)
        read.append(len(entries))
        return entries

    monkeypatch.setattr(Reader, "transcript", noted)
    answer = ask(engine, context="fork")

    assert answer["note"].startswith(SPAWNED_WITHOUT_FORK)
    *read, _ = read  # the last look is our own
    assert sum(read) <= 2 * PAGE


def test_a_conversation_too_long_to_fork_is_left_out_and_the_answer_says_so(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    engine.stores.redis.lpush(engine.stores.keys.log(SESSION), dump_entry(long))

    answer = ask(engine, context="fork")

    assert answer["note"].startswith(SPAWNED_WITHOUT_FORK)
    run = child(engine)
    assert row(engine, run.session_key)["forkedFromParent"] == "false"
    assert engine.log(run.session_key) == []


def attached(name: str, content: bytes) -> dict[str, str]:
    return {"name": name, "content": base64.b64encode(content).decode()}


def test_attachments_are_there_when_the_child_works_under_names_that_are_safe(engine: EngineHarness) -> None:
    files = [attached("../../notes.txt", b"one"), attached(".hidden", b"two"), attached("..", b"three")]
    ask(engine, attachments=files)
    run = child(engine)
    folder = engine.loaded.state_dir / "workspace" / files_dir(run.session_key)
    assert not folder.exists(), "they are written by whoever runs the child"

    engine.work()

    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert found == {"1-notes.txt": b"one", "2-hidden": b"two", "3-file": b"three"}
    (task,) = [entry for entry in engine.log(run.session_key) if entry.role == "user"]
    assert f"{files_dir(run.session_key)}/1-notes.txt" in task.content[0].text


def test_a_link_that_leads_out_of_the_workspace_gets_no_files(engine: EngineHarness, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    workspace = engine.loaded.state_dir / "workspace"
    workspace.mkdir(parents=True)
    (workspace / ".openclaw").symlink_to(tmp_path / "outside")
    ask(engine, attachments=[{"name": "notes.txt", "content": "aGk="}])
    settle(engine)

    assert list((tmp_path / "outside").iterdir()) == []
    assert child(engine).state is RunState.OK


def test_base64_may_be_written_in_lines(engine: EngineHarness) -> None:
    lines = base64.encodebytes(b"x" * 200).decode()
    answer = ask(engine, attachments=[{"name": "notes.txt", "content": lines}])
    settle(engine)

    folder = engine.loaded.state_dir / "workspace" / files_dir(answer["childSessionKey"])
    assert (folder / "1-notes.txt").read_bytes() == b"x" * 200


@pytest.mark.parametrize(
    ("more", "workspace"), [({"workspaceDir": "part"}, "workspace/part"), ({"agentId": "b"}, "workspace-b")]
)
def test_attachments_lie_where_the_child_works(make_engine: MakeEngine, more: dict[str, str], workspace: str) -> None:
    agents = [{"id": "main", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]
    engine = make_engine({"agents": {"list": agents}})
    look = call({"tool": "exec", "input": {"command": "cat .openclaw/attachments/*/1-data.txt"}})
    ask(engine, task=program(look, say("seen")), attachments=[attached("data.txt", b"one")], **more)
    (run,) = children(engine)

    engine.work()

    assert (engine.loaded.state_dir / workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() == b"one"
    result = engine.log(run.session_key)[2]
    assert isinstance(result, ToolResultEntry)
    assert "one\n[exit code 0]" in result.content[0].text


def test_two_children_with_files_of_one_name_get_their_own(engine: EngineHarness) -> None:
    calls = [
        {"tool": "sessions_spawn", "input": {"task": "x", "attachments": [attached("data.txt", content)]}}
        for content in (b"first", b"second")
    ]
    first_turn(engine, call(*calls))
    engine.work()

    workspace = engine.loaded.state_dir / "workspace"
    read = [(workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() for run in children(engine)]
    assert read == [b"first", b"second"]


@pytest.mark.parametrize(
    ("files", "told"),
    [([attached("a", b"x" * 1_000_001)], "1,000,000"), ([attached("a", b"x" * 1_000_000)] * 6, "5,000,000")],
    ids=["one too large", "too much in all"],
)
def test_attachments_have_limits(files: list[dict[str, str]], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        SessionsSpawn().parse({"task": "x", "attachments": files})


def test_a_child_is_told_that_it_is_a_background_task_and_for_whom(engine: EngineHarness) -> None:
    ask(engine, task="count to three")
    run = child(engine)
    engine.work()

    (task,) = [entry for entry in engine.log(run.session_key) if entry.role == "user"]
    told = task.content[0].text
    assert told.startswith("[Subagent Context] You are a sub-agent at depth 1 of 2")
    assert SESSION in told
    assert told.endswith("[Subagent Task]\ncount to three")


def test_a_child_is_told_that_its_last_answer_goes_back_by_itself_and_to_whom(engine: EngineHarness) -> None:
    nested(engine)
    engine.work()

    middle = child(engine).session_key
    leaf = child(engine, middle).session_key
    for session, who in ((middle, f"the main agent ({SESSION})"), (leaf, f"another sub-agent ({middle})")):
        task = next(entry for entry in engine.log(session) if isinstance(entry, UserEntry))
        assert f"for {who}. Your last answer goes back to it by itself;" in task.content[0].text


def test_children_have_a_minimal_prompt_and_their_tools_by_depth(engine: EngineHarness) -> None:
    prompts, tools = {}, {}
    nested(engine)
    middle = child(engine)
    (leaf,) = children(engine, middle.session_key)
    for name, session in (("root", SESSION), ("middle", middle.session_key), ("leaf", leaf.session_key)):
        if session == SESSION:
            engine.say("hello", session)
        elif session == middle.session_key:
            engine.say("hello", session, route=CLI)
        engine.waker.turns.clear()
        run = engine.stores.reader.control(session).run
        assert run is not None
        lane = Lane.MAIN if session == SESSION else Lane.SUBAGENT
        freshness = engine.built.resets.times(session)
        taken = engine.turns.take(
            session, RunId(run), lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
        )
        setup = engine.built.preparer.prepare(taken, []).setup  # type: ignore[arg-type]
        prompts[name], tools[name] = setup.system, set(setup.tools)

    assert "personal assistant" in prompts["root"]
    assert "background task" in prompts["middle"]
    assert "background task" in prompts["leaf"]
    assert "personal assistant" not in prompts["leaf"]
    assert "Your last answer goes back to whoever started you, by itself." in prompts["leaf"]
    assert "sessions_spawn" in tools["root"] & tools["middle"]
    assert "sessions_spawn" not in tools["leaf"]
    assert "## Sub-agents" not in prompts["leaf"]
