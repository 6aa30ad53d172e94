"""`sessions_spawn`: its parameters, its checks in their order, its limits, its answer."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.engine.child_files import files_dir
from openclaw_workers.engine.children import DEFAULT_LABEL, MOST_FORKED_TOKENS
from openclaw_workers.engine.spawning import NOTE_ISOLATED
from openclaw_workers.errors import ToolError
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.runs import Lane, RunState
from openclaw_workers.models.transcript import (
    CompactionEntry,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    dump_entry,
)
from openclaw_workers.models.tree import AnnounceMode, BatchState, Cleanup, Role, SpawnMode
from openclaw_workers.store.reading import PAGE, Reader
from openclaw_workers.store.turns import Taken
from openclaw_workers.tools.spawn import SessionsSpawn
from tests.support.programs import call, program, say, spawn, write
from tests.unit.engine.conftest import CLI, SESSION, House, MakeHouse
from tests.unit.engine.tree_talk import (
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


def with_subagents(**keys: Any) -> dict[str, Any]:
    return {"agents": {"defaults": {"subagents": keys}}}


def test_the_answer_comes_at_once_and_says_all_there_is_to_know(house: House) -> None:
    answer = ask(house)

    run = child(house)
    assert run.state is RunState.QUEUED
    session_id = row(house, run.session_key)["sessionId"]
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


def test_what_is_not_asked_for_has_its_default(house: House) -> None:
    ask(house)

    run = child(house)
    assert (run.spawn_mode, run.cleanup, run.announce) == (SpawnMode.RUN, Cleanup.KEEP, AnnounceMode.BATCH)
    assert (run.deliver, run.wake_on_descendant_settle, run.label) == (False, True, DEFAULT_LABEL)
    assert (run.timeout_ms, run.metadata, run.lane, run.kind) == (None, {}, Lane.SUBAGENT, "subagent")
    assert row(house, run.session_key)["forkedFromParent"] == "false"


def test_the_record_knows_who_asked_and_the_row_whose_child_it_is(house: House) -> None:
    queued = house.say(text(spawn(CHILD, label="one"), say("spawned"), say("heard")))
    house.runner.run(*house.waker.turns.pop(0))

    run, parent = child(house), house.run_of(queued)
    assert run.requester_session_key == run.controller_session_key == run.root_session_key == SESSION
    assert run.requester_session_id == row(house, SESSION)["sessionId"]
    assert run.parent_run_id == parent.id
    assert (run.depth, run.role) == (1, Role.ORCHESTRATOR)
    stored = row(house, run.session_key)
    assert stored["spawnedBy"] == stored["rootSessionKey"] == SESSION
    assert (stored["spawnDepth"], stored["subagentRole"]) == ("1", "orchestrator")
    assert (stored["subagentControlScope"], stored["createdByRunId"]) == ("children", parent.id)
    assert stored["spawnedWorkspaceDir"].endswith("workspace")


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
def test_each_parameter_is_kept_in_the_record(house: House, given: dict[str, Any], field: str, value: Any) -> None:
    assert ask(house, **given)["status"] == "accepted"
    assert getattr(child(house), field) == value


def test_the_task_may_be_called_a_message(house: House) -> None:
    (answer,) = first_turn(house, call({"tool": "sessions_spawn", "input": {"message": "count to three"}}))

    assert answer["status"] == "accepted"
    assert child(house).task == "count to three"


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
def test_a_wrong_argument_is_named_and_nothing_is_spawned(house: House, given: dict[str, Any], told: str) -> None:
    answer = ask(house, **given)

    assert answer["status"] == "refused"
    assert told in answer["error"]
    assert children(house) == []


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
    ("program", {}, {"model": "cli/gone"}, "error", "is no model"),
    ("workspace", {}, {"workspaceDir": "../elsewhere"}, "error", "not inside the workspace"),
]


@pytest.mark.parametrize(("agents", "given", "word", "told"), [each[1:] for each in CHECKS], ids=[c[0] for c in CHECKS])
def test_each_check_has_its_word_and_a_message_to_act_on(
    make_house: MakeHouse, agents: dict[str, Any], given: dict[str, Any], word: str, told: str
) -> None:
    house = make_house({"agents": agents})

    answer = ask(house, **given)

    assert (answer["status"], answer["accepted"]) == (word, False)
    assert told in answer["error"]
    assert children(house) == []


def test_a_call_that_is_refused_has_failed_for_all_to_see(house: House) -> None:
    first_turn(house, call(*spawn(CHILD)["calls"], *spawn(CHILD, agentId="other")["calls"]))

    results = [entry for entry in house.log() if isinstance(entry, ToolResultEntry)]
    assert [(json.loads(each.content[0].text)["status"], each.is_error) for each in results] == [
        ("accepted", False),
        ("forbidden", True),
    ]
    ends = [event.data for event in house.stores.reader.events(SESSION, "0") if event.type == "tool.ended"]
    assert [bool(each.get("error")) for each in ends] == [False, True]


def test_the_checks_are_made_in_the_articles_order(make_house: MakeHouse) -> None:
    # Given an agent to whom everything is forbidden at once
    agents: dict[str, Any] = {
        "defaults": {
            "subagents": {"maxSpawnDepth": 1, "maxChildrenPerAgent": 1, "requireAgentId": False},
            "sandbox": {"mode": "all"},
        },
        "list": [{"id": "main"}, {"id": "coder", "sandbox": {"mode": "off"}, "subagents": {"maxSpawnDepth": 1}}],
    }
    wrong = {"agentId": "coder", "mode": "session", "thinking": "hard"}
    house = make_house({"agents": agents})

    # Then what is told first is the first in the list, and each thing put right tells the next
    assert "is not an agent id" in ask(house, **{**wrong, "agentId": "?"})["error"]
    first_turn(house, spawn(CHILD))
    house.stores.sessions.patch(SESSION, {"spawnDepth": "1", "subagentRole": "orchestrator"})
    assert "is not an agent id" in first_turn(house, spawn(CHILD, **{**wrong, "agentId": "?"}))[-1]["error"]
    assert "you are at depth 1" in first_turn(house, spawn(CHILD, **wrong))[-1]["error"]
    house.stores.sessions.patch(SESSION, {"spawnDepth": "0"})
    assert "sub-agents at work" in first_turn(house, spawn(CHILD, **wrong))[-1]["error"]
    settle(house)
    assert "you may not spawn agent" in first_turn(house, spawn(CHILD, **wrong))[-1]["error"]
    agents["defaults"]["subagents"]["allowAgents"] = ["coder"]
    house = make_house({"agents": agents})
    assert "sandboxed" in first_turn(house, spawn(CHILD, **wrong))[-1]["error"]
    agents["list"][1]["sandbox"] = {"mode": "all"}
    house = make_house({"agents": agents})
    assert "needs thread" in first_turn(house, spawn(CHILD, **wrong))[-1]["error"]
    assert "is no level" in first_turn(house, spawn(CHILD, **{**wrong, "mode": "run"}))[-1]["error"]


def nested(house: House, **more: Any) -> dict[str, Any]:
    """What a child is told that spawns itself."""
    middle = program(spawn(CHILD, **more), say("waiting"), say("done"))
    house.say(text(spawn(middle), say("spawned"), say("heard")))
    house.runner.run(*house.waker.turns.pop(0))
    house.runner.run(*house.waker.turns.pop(0))
    parent = child(house)
    (result,) = [entry for entry in house.log(parent.session_key) if entry.role == "toolResult"]
    told = result.content[0].text
    return json.loads(told) if told.startswith("{") else {"error": told}


def test_a_child_may_spawn_leaves_and_leaves_have_no_such_tool(house: House) -> None:
    answer = nested(house)

    assert (answer["status"], answer["depth"], answer["role"]) == ("accepted", 2, "leaf")
    leaf = SessionKey(answer["childSessionKey"])
    assert row(house, leaf)["subagentControlScope"] == "none"
    assert row(house, leaf)["rootSessionKey"] == SESSION
    (run,) = children(house, child(house).session_key)
    assert run.root_session_key == SESSION


def test_max_spawn_depth_1_forbids_nesting(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(maxSpawnDepth=1))

    assert "there is no tool 'sessions_spawn'" in nested(house)["error"]
    assert child(house).role is Role.LEAF


def test_one_deeper_than_allowed_is_forbidden_with_both_numbers(make_house: MakeHouse) -> None:
    # Given a child that may spawn by its role, under an agent whose limit was lowered meanwhile
    house = make_house(with_subagents(maxSpawnDepth=1))
    key = SessionKey("agent:main:subagent:one")
    house.say("hello", key)
    house.work()
    house.stores.sessions.patch(key, {"spawnDepth": "1", "subagentRole": "orchestrator"})

    (answer,) = first_turn(house, spawn(CHILD), key)

    assert answer["status"] == "forbidden"
    assert "depth 1" in answer["error"]
    assert "1 deep" in answer["error"]


def test_max_children_counts_those_at_work_and_not_those_done(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(maxChildrenPerAgent=2))

    told = first_turn(house, spawn(CHILD, CHILD, CHILD))
    assert [each["status"] for each in told] == ["accepted", "accepted", "forbidden"]
    assert "may have 2" in told[2]["error"]

    settle(house)
    assert [each["status"] for each in first_turn(house, spawn(CHILD))][-1] == "accepted"


def test_max_tree_runs_counts_the_whole_tree(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(maxTreeRuns=1))

    answer = nested(house)

    assert answer["status"] == "forbidden"
    assert "this tree has 1" in answer["error"]


def crashed_after_spawning(house: House, count: int) -> RunId:
    """An owner that spawned, and died before it could write down what it was told."""
    queued = house.say(text(spawn(*[CHILD] * count), say("spawned"), say("heard")))
    log, run = house.stores.keys.log(SESSION), queued.run
    assert run is not None
    house.runner.run(*house.waker.turns.pop(0))
    while house.log()[-1].role != "assistant" or not house.log()[-1].tool_calls:  # type: ignore[union-attr]
        house.stores.redis.rpop(log)
    crashed: dict[Any, Any] = {
        "state": "queued",
        "run": run,
        "resumed": "1",
        "run_key": house.stores.keys.run(run),
        "started": "",
    }
    house.stores.redis.hset(house.stores.keys.ctl(SESSION), mapping=crashed)
    return run


def test_a_repeat_after_a_crash_is_not_counted_against_itself(make_house: MakeHouse) -> None:
    # Given an owner that spawned as many as there may be and died
    house = make_house(with_subagents(maxChildrenPerAgent=2))
    run = crashed_after_spawning(house, 2)
    before = [each.id for each in children(house)]

    # When the next owner makes the calls again
    house.runner.run(SESSION, run)

    # Then it is told what was true before, and there are no others
    assert [each["status"] for each in answers(house)] == ["accepted", "accepted"]
    assert [each.id for each in children(house)] == before


def test_a_repeat_after_a_crash_adds_nobody_to_a_batch_that_is_announced(make_house: MakeHouse) -> None:
    """I4: what was refused stays refused, although its siblings are done and there is room again."""
    # Given an owner that asked for one more than there may be and died, and children that have reported since
    house = make_house(with_subagents(maxChildrenPerAgent=2))
    run = crashed_after_spawning(house, 3)
    first, second = children(house)
    for each in (first, second):
        house.runner.run(each.session_key, each.id)
    assert [house.announcer.announce(batch) for batch in pending(house)] == [BatchState.DELIVERED]

    # When the next owner makes the calls again
    house.runner.run(SESSION, run)
    settle(house)

    # Then it is told what was true before, and hears of each child once
    assert [each["status"] for each in answers(house)] == ["accepted", "accepted", "forbidden"]
    (announce,) = announces(house)
    assert [announce.count(f"run: {each.id}") for each in (first, second)] == [1, 1]


@pytest.mark.parametrize("wrong", ["/etc", "a\0b", "~nobody-of-that-name/x"])
def test_a_wrong_workspace_refuses_one_call_and_not_its_siblings(house: House, wrong: str) -> None:
    step = call(
        {"tool": "sessions_spawn", "input": {"task": "x", "workspaceDir": wrong}},
        {"tool": "sessions_spawn", "input": {"task": "y"}},
    )

    assert [each["status"] for each in first_turn(house, step)] == ["error", "accepted"]


TWO_AGENTS = {"defaults": {"subagents": {"allowAgents": ["*"]}}, "list": [{"id": "main"}, {"id": "coder"}]}


@pytest.mark.parametrize("allowed", [["*"], ["coder"]])
def test_another_agent_does_it_where_that_is_allowed(make_house: MakeHouse, allowed: list[str]) -> None:
    agents = {**TWO_AGENTS, "defaults": {"subagents": {"allowAgents": allowed}}}
    house = make_house({"agents": agents})

    answer = ask(house, agentId="coder")

    assert answer["childSessionKey"].startswith("agent:coder:subagent:")
    stored = row(house, SessionKey(answer["childSessionKey"]))
    assert "spawnedWorkspaceDir" not in stored
    settle(house)
    assert child(house).text == "child's word"
    assert (house.loaded.state_dir / "workspace-coder").is_dir()


def test_a_child_of_an_agent_that_may_not_nest_is_a_leaf(make_house: MakeHouse) -> None:
    """What it is told, the tools it has and what it may do agree."""
    coder = {"id": "coder", "subagents": {"maxSpawnDepth": 1}}
    house = make_house({"agents": {**TWO_AGENTS, "list": [{"id": "main"}, coder]}})

    answer = ask(house, agentId="coder")

    assert answer["role"] == Role.LEAF
    house.work()
    asked = house.log(answer["childSessionKey"])[0].content[0].text  # type: ignore[union-attr]
    assert "at depth 1 of 1" in asked
    assert "You cannot start sub-agents" in asked


def test_naming_oneself_is_always_allowed(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(requireAgentId=True))
    assert ask(house, agentId="main")["status"] == "accepted"


def choices(house: House) -> tuple[str, str, str]:
    stored = row(house, child(house).session_key)
    return stored.get("providerOverride", ""), stored.get("modelOverride", ""), stored.get("thinkingLevel", "")


def test_model_and_thinking_of_children_by_configuration(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(model="offline/demo", thinking="low"))
    ask(house)
    assert choices(house) == ("offline", "demo", "low")
    house.work()
    assert child(house).model == "offline/demo"


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
    make_house: MakeHouse, model: dict[str, Any], answered: str | None
) -> None:
    house = make_house(with_subagents(model=model))
    ask(house, task=program({"fail": "auth"}))
    house.work()

    run = child(house)
    if answered:
        assert (run.state, run.model, run.fallback_from) == (RunState.OK, answered, "offline/script")
    else:
        assert run.state is RunState.ERROR


def test_the_fallbacks_of_children_are_not_those_of_the_main_session(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(model={"primary": "offline/script", "fallbacks": ["offline/demo"]}))
    queued = house.say(text({"fail": "auth"}))
    house.work()

    assert house.run_of(queued).state is RunState.ERROR


def test_a_call_overrides_what_is_configured_for_children(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(model="offline/demo", thinking="low"))
    ask(house, model="offline/script", thinking="high")
    assert choices(house) == ("offline", "script", "high")


def test_an_agents_own_setting_for_its_children_goes_first(make_house: MakeHouse) -> None:
    defaults = {"subagents": {"model": "offline/demo", "thinking": "low"}}
    own = {"id": "main", "subagents": {"thinking": "medium"}}
    house = make_house({"agents": {"defaults": defaults, "list": [own]}})
    ask(house)
    assert choices(house) == ("offline", "demo", "medium")


def test_a_child_of_the_same_agent_inherits_what_its_parents_session_chose(house: House) -> None:
    house.say("hello")
    house.work()
    house.stores.sessions.patch(
        SESSION, {"providerOverride": "offline", "modelOverride": "script", "thinkingLevel": "high"}
    )
    ask(house)
    assert choices(house) == ("offline", "script", "high")


def test_a_child_of_another_agent_inherits_no_choice(make_house: MakeHouse) -> None:
    house = make_house({"agents": TWO_AGENTS})
    house.say("hello")
    house.work()
    house.stores.sessions.patch(SESSION, {"thinkingLevel": "high"})
    ask(house, agentId="coder")
    assert choices(house) == ("", "", "")


def test_the_timeout_of_children_by_configuration_and_by_call(make_house: MakeHouse) -> None:
    house = make_house(with_subagents(runTimeoutSeconds=9))
    told = call(
        {"tool": "sessions_spawn", "input": {"task": "x"}},
        {"tool": "sessions_spawn", "input": {"task": "y", "runTimeoutSeconds": 3}},
        {"tool": "sessions_spawn", "input": {"task": "z", "timeoutSeconds": 0}},
    )
    first_turn(house, told)
    assert [run.timeout_ms for run in children(house)] == [9000, 3000, None]

    house.runner.run(*house.waker.turns.pop(0))
    first = reread(house, children(house)[0])
    assert first.deadline_at is not None
    assert first.started_at is not None
    assert first.deadline_at - first.started_at == 9000


@pytest.mark.parametrize("config", [with_subagents(maxConcurrent=1), {"lanes": {"subagent": {"maxConcurrent": 1}}}])
def test_max_concurrent_caps_the_lane(make_house: MakeHouse, config: dict[str, Any]) -> None:
    # Given two children where one may work at a time
    house = make_house(config)
    first_turn(house, spawn(CHILD, CHILD))
    one, two = children(house)
    freshness = house.preparer.freshness(one.session_key)
    taken = house.turns.take(
        one.session_key, one.id, one.lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
    )
    assert isinstance(taken, Taken)
    house.waker.turns.clear()

    # Then the second stands in line, holding nobody
    assert house.runner.run(two.session_key, two.id) is None
    assert reread(house, two).state is RunState.QUEUED
    assert house.stores.redis.zrange(house.stores.keys.line(Lane.SUBAGENT), 0, -1) == [f"{two.id} {two.session_key}"]

    # And it is woken when the first is done
    house.control.stop_session(one.session_key)
    house.turns.release(taken.lease)
    house.runner.run(one.session_key, one.id)
    assert (two.session_key, two.id) in house.waker.turns
    settle(house)
    assert [run.state for run in children(house)] == [RunState.KILLED, RunState.OK]


def test_a_child_works_in_its_parents_directory_or_inside_it(house: House) -> None:
    task = program(call(write("made.txt", "x")), say("made"))
    ask(house, task=task, workspaceDir="part")
    house.work()
    assert (house.loaded.state_dir / "workspace" / "part" / "made.txt").read_text() == "x"


def test_a_grandchild_inherits_the_directory_its_parent_was_given(house: House) -> None:
    leaf = program(call(write("deep.txt", "x")), say("made"))
    ask(house, task=program(spawn(leaf), say("waiting"), say("done")), workspaceDir="part")
    settle(house)
    assert (house.loaded.state_dir / "workspace" / "part" / "deep.txt").exists()


def test_a_fork_begins_with_the_conversation_and_without_the_message_that_spawns(house: House) -> None:
    house.say("remember: the word is plum")
    house.work()

    answer = ask(house, context="fork")

    assert NOTE_ISOLATED not in answer["note"]
    run = child(house)
    assert row(house, run.session_key)["forkedFromParent"] == "true"
    entries = house.log(run.session_key)
    assert [entry.role for entry in entries] == ["user", "assistant", "user"]
    house.work()
    assert reread(house, run).state is RunState.OK
    assert [entry.role for entry in house.log(run.session_key)][3:] == ["user", "assistant"]


def test_a_fork_of_a_compacted_conversation_begins_with_its_summary(house: House) -> None:
    """What the parent itself no longer sees counts for nothing."""
    house.say("hello")
    house.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    summed_up = CompactionEntry(summary="they greeted each other")
    house.stores.redis.rpush(house.stores.keys.log(SESSION), dump_entry(long), dump_entry(summed_up))

    answer = ask(house, context="fork")

    assert NOTE_ISOLATED not in answer["note"]
    log = house.log(child(house).session_key)
    assert [entry.role for entry in log] == ["compaction", "user"]


def test_a_fork_reads_no_further_back_than_could_be_handed_on(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcript of a busy session is far longer than what any model is shown of it."""
    house.say("hello")
    house.work()
    log = house.stores.keys.log(SESSION)
    part = dump_entry(UserEntry(content=[TextBlock(text="word " * (MOST_FORKED_TOKENS // 50))]))
    house.stores.redis.lpush(log, *[part] * 4 * PAGE)
    read, transcript = [], Reader.transcript

    def noted(reader: Reader, *args: Any) -> list[TranscriptEntry]:
        entries = transcript(reader, *args)
        read.append(len(entries))
        return entries

    monkeypatch.setattr(Reader, "transcript", noted)
    answer = ask(house, context="fork")

    assert answer["note"].startswith(NOTE_ISOLATED)
    *read, _ = read  # the last look is our own
    assert sum(read) <= 2 * PAGE


def test_a_conversation_too_long_to_fork_is_left_out_and_the_answer_says_so(house: House) -> None:
    house.say("hello")
    house.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    house.stores.redis.lpush(house.stores.keys.log(SESSION), dump_entry(long))

    answer = ask(house, context="fork")

    assert answer["note"].startswith(NOTE_ISOLATED)
    run = child(house)
    assert row(house, run.session_key)["forkedFromParent"] == "false"
    assert house.log(run.session_key) == []


def attached(name: str, content: bytes) -> dict[str, str]:
    return {"name": name, "content": base64.b64encode(content).decode()}


def test_attachments_are_there_when_the_child_works_under_names_that_are_safe(house: House) -> None:
    files = [attached("../../notes.txt", b"one"), attached(".hidden", b"two"), attached("..", b"three")]
    ask(house, attachments=files)
    run = child(house)
    folder = house.loaded.state_dir / "workspace" / files_dir(run.session_key)
    assert not folder.exists(), "they are written by whoever runs the child"

    house.work()

    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert found == {"1-notes.txt": b"one", "2-hidden": b"two", "3-file": b"three"}
    (task,) = [entry for entry in house.log(run.session_key) if entry.role == "user"]
    assert f"{files_dir(run.session_key)}/1-notes.txt" in task.content[0].text


def test_a_link_that_leads_out_of_the_workspace_gets_no_files(house: House, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    workspace = house.loaded.state_dir / "workspace"
    workspace.mkdir(parents=True)
    (workspace / ".openclaw").symlink_to(tmp_path / "outside")
    ask(house, attachments=[{"name": "notes.txt", "content": "aGk="}])
    settle(house)

    assert list((tmp_path / "outside").iterdir()) == []
    assert "leads out of the workspace" in (child(house).error or "")


def test_base64_may_be_written_in_lines(house: House) -> None:
    lines = base64.encodebytes(b"x" * 200).decode()
    answer = ask(house, attachments=[{"name": "notes.txt", "content": lines}])
    settle(house)

    folder = house.loaded.state_dir / "workspace" / files_dir(answer["childSessionKey"])
    assert (folder / "1-notes.txt").read_bytes() == b"x" * 200


@pytest.mark.parametrize(
    ("more", "workspace"), [({"workspaceDir": "part"}, "workspace/part"), ({"agentId": "b"}, "workspace-b")]
)
def test_attachments_lie_where_the_child_works(make_house: MakeHouse, more: dict[str, str], workspace: str) -> None:
    agents = [{"id": "main", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]
    house = make_house({"agents": {"list": agents}})
    look = call({"tool": "exec", "input": {"command": "cat .openclaw/attachments/*/1-data.txt"}})
    ask(house, task=program(look, say("seen")), attachments=[attached("data.txt", b"one")], **more)
    (run,) = children(house)

    house.work()

    assert (house.loaded.state_dir / workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() == b"one"
    result = house.log(run.session_key)[2]
    assert isinstance(result, ToolResultEntry)
    assert "one\n[exit code 0]" in result.content[0].text


def test_two_children_with_files_of_one_name_get_their_own(house: House) -> None:
    calls = [
        {"tool": "sessions_spawn", "input": {"task": "x", "attachments": [attached("data.txt", content)]}}
        for content in (b"first", b"second")
    ]
    first_turn(house, call(*calls))
    house.work()

    workspace = house.loaded.state_dir / "workspace"
    read = [(workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() for run in children(house)]
    assert read == [b"first", b"second"]


@pytest.mark.parametrize(
    ("files", "told"),
    [([attached("a", b"x" * 1_000_001)], "1,000,000"), ([attached("a", b"x" * 1_000_000)] * 6, "5,000,000")],
    ids=["one too large", "too much in all"],
)
def test_attachments_have_limits(files: list[dict[str, str]], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        SessionsSpawn().parse({"task": "x", "attachments": files})


def test_a_child_is_told_that_it_is_a_background_task_and_for_whom(house: House) -> None:
    ask(house, task="count to three")
    run = child(house)
    house.work()

    (task,) = [entry for entry in house.log(run.session_key) if entry.role == "user"]
    told = task.content[0].text
    assert told.startswith("[Subagent Context] You are a sub-agent at depth 1 of 2")
    assert SESSION in told
    assert told.endswith("[Subagent Task]\ncount to three")


def test_a_child_is_told_that_its_last_answer_goes_back_by_itself_and_to_whom(house: House) -> None:
    nested(house)
    house.work()

    middle = child(house).session_key
    leaf = child(house, middle).session_key
    for session, who in ((middle, f"the main agent ({SESSION})"), (leaf, f"another sub-agent ({middle})")):
        task = next(entry for entry in house.log(session) if isinstance(entry, UserEntry))
        assert f"for {who}. Your last answer goes back to it by itself;" in task.content[0].text


def test_children_have_a_minimal_prompt_and_their_tools_by_depth(house: House) -> None:
    prompts, tools = {}, {}
    nested(house)
    middle = child(house)
    (leaf,) = children(house, middle.session_key)
    for name, session in (("root", SESSION), ("middle", middle.session_key), ("leaf", leaf.session_key)):
        if session == SESSION:
            house.say("hello", session)
        elif session == middle.session_key:
            house.say("hello", session, route=CLI)
        house.waker.turns.clear()
        run = house.stores.reader.control(session).run
        assert run is not None
        lane = Lane.MAIN if session == SESSION else Lane.SUBAGENT
        freshness = house.preparer.freshness(session)
        taken = house.turns.take(
            session, RunId(run), lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
        )
        setup = house.preparer.prepare(taken, []).setup  # type: ignore[arg-type]
        prompts[name], tools[name] = setup.system, set(setup.tools)

    assert "personal assistant" in prompts["root"]
    assert "background task" in prompts["middle"]
    assert "background task" in prompts["leaf"]
    assert "personal assistant" not in prompts["leaf"]
    assert "Your last answer goes back to whoever started you, by itself." in prompts["leaf"]
    assert "sessions_spawn" in tools["root"] & tools["middle"]
    assert "sessions_spawn" not in tools["leaf"]
    assert "## Sub-agents" not in prompts["leaf"]
