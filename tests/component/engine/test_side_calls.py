"""What happens beside the conversation of a turn: notes before a compaction, loops of tools, replies that are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.context.memory_flush import DONE
from openclaw_workers.agent.prompt.texts import LOOP_BLOCKED, LOOP_WARNING
from openclaw_workers.domain.transcript import AssistantEntry, NoticeEntry, ToolResultEntry
from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.providers.http.failures import reason_for
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import APIS, ask, engine_with, is_flush, is_summary, said, valid
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer

FLUSHED_EARLY = {"memoryFlush": {"forceFlushTranscriptBytes": 100}}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def notices(engine: EngineHarness) -> list[str]:
    return [entry.text for entry in engine.log() if isinstance(entry, NoticeEntry)]


def deltas(engine: EngineHarness) -> str:
    events = engine.stores.reader.events(SESSION, "0")
    return "".join(event.data["text"] for event in events if event.type == "text.delta")


def saving(request: Recorded) -> Reply:
    """A model that saves a note when it is asked to, tries more than it may, and is silent then."""
    if is_summary(request):
        return Reply("It was about blue.")
    if not is_flush(request):
        return Reply("Noted.")
    if "toolu_w" in said(request):
        return Reply("NO_REPLY")
    calls = [
        Called("write", {"path": "memory/notes.md", "content": "likes blue\n"}, id="toolu_w"),
        Called("exec", {"command": "touch forbidden"}, id="toolu_x"),
    ]
    return Reply("Saving.", calls=calls)


def test_notes_are_saved_once_a_cycle_and_nobody_is_shown(make_engine: MakeEngine, server: WireServer) -> None:
    server.answer = saving
    engine = engine_with(make_engine, server, compaction=FLUSHED_EARLY)
    workspace = engine.loaded.state_dir / "workspace"

    assert ask(engine, "I like blue. " + "z" * 200).text == "Noted."
    assert (workspace / "memory/notes.md").read_text() == "likes blue\n"
    assert not (workspace / "forbidden").exists()
    assert notices(engine) == [f"{DONE}: saved to memory/notes.md"]
    assert [entry.role for entry in engine.log()] == ["user", "notice", "assistant"]
    assert not [kind for kind in engine.events() if kind.startswith("tool.")]
    assert "Saving" not in deltas(engine)
    tools = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert tools == {"read", "write", "edit", "memory_get", "memory_search", "memory_write"}

    asked = len(server.requests)
    ask(engine, "more " + "z" * 400)
    assert not any(is_flush(request) for request in server.requests[asked:]), "once a cycle"

    ask(engine, "/compact")
    ask(engine, "a new cycle " + "z" * 400)
    assert len(notices(engine)) == 2
    assert valid(server)


def test_without_a_place_to_write_to_nothing_is_flushed(make_engine: MakeEngine, server: WireServer) -> None:
    server.answer = saving
    off = {"memoryFlush": {"enabled": False, "forceFlushTranscriptBytes": 100}}
    engine = engine_with(make_engine, server, compaction=off)
    ask(engine, "z" * 400)
    assert len(server.requests) == 1


def test_a_sub_agent_leaves_the_memory_of_the_main_conversation_alone(
    make_engine: MakeEngine, server: WireServer
) -> None:
    def answer(request: Recorded) -> Reply:
        if "## Sub-agent\n" in said(request).replace("\\n", "\n") or "toolu_s" in said(request) or is_flush(request):
            return saving(request)
        return Reply(calls=[Called("sessions_spawn", {"task": "count " + "z" * 400}, id="toolu_s")])

    server.answer = answer
    engine = engine_with(make_engine, server, compaction=FLUSHED_EARLY)
    ask(engine, "spawn one " + "z" * 400)

    (child,) = engine.stores.tree.children(SESSION)
    assert [entry.role for entry in engine.log(child.session_key)] == ["user", "assistant"]
    assert sum(entry.text.startswith(DONE) for entry in engine.log() if isinstance(entry, NoticeEntry)) == 1


@pytest.mark.parametrize("changes", [{}, {"warningThreshold": 2, "criticalThreshold": 3}])
def test_a_loop_is_warned_about_and_then_broken(make_engine: MakeEngine, server: WireServer, changes: Any) -> None:
    breaker = 30 if not changes else 4
    detection = {**changes, "globalCircuitBreakerThreshold": breaker}
    engine = engine_with(make_engine, server, tools={"loopDetection": detection})
    path = Path(engine.loaded.state_dir) / "workspace" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("the same")

    def answer(request: Recorded) -> Reply:
        number = len(server.requests)
        is_over = LOOP_BLOCKED in said(request)
        return Reply("I stop.") if is_over else Reply(calls=[Called("read", {"path": "a.txt"}, id=f"toolu_{number}")])

    server.answer = answer
    run = ask(engine, "read it")

    assert run.text == "I stop."
    results = [entry.content[0].text for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    assert len(results) == breaker + 1
    quoted, _, warning = results[changes.get("warningThreshold", 10)].partition(LOOP_WARNING)
    assert quoted == wrap("the same", "tool read"), "what the runtime says is not quoted"
    assert warning
    assert results[-1].startswith(LOOP_BLOCKED)
    assert engine.events().count("tool.started") == breaker
    assert valid(server)


def test_a_loop_of_calls_that_are_made_as_one_is_broken_too(make_engine: MakeEngine, server: WireServer) -> None:
    detection = {"warningThreshold": 2, "criticalThreshold": 3, "globalCircuitBreakerThreshold": 4}
    engine = engine_with(make_engine, server, tools={"loopDetection": detection})

    def answer(request: Recorded) -> Reply:
        number = len(server.requests)
        calls = [Called("sessions_spawn", {"task": ""}, id=f"toolu_{number}_{each}") for each in "ab"]
        return Reply("I stop.") if LOOP_BLOCKED in said(request) else Reply(calls=calls)

    server.answer = answer
    assert ask(engine, "spawn").text == "I stop."
    results = [entry.content[0].text for entry in engine.log() if isinstance(entry, ToolResultEntry)]
    assert [LOOP_BLOCKED in result for result in results] == [False] * 4 + [True] * 2
    assert LOOP_WARNING in results[2]
    assert engine.events().count("tool.started") == 4
    assert valid(server)


@pytest.mark.parametrize("token", ["NO_REPLY", "\N{DOVE OF PEACE}\ufe0f_NO_REPLY"])
def test_a_silent_reply_is_kept_and_not_shown(make_engine: MakeEngine, server: WireServer, token: str) -> None:
    engine = engine_with(make_engine, server)
    server.script.append(Reply(token, gap_seconds=0.05))
    run = ask(engine, "nothing for you")
    assert (run.state, run.reason, run.text or "") == ("ok", "silent", "")
    assert deltas(engine) == ""
    last = engine.log()[-1]
    assert isinstance(last, AssistantEntry)
    assert last.text == token

    server.script.append(Reply("NO is what I say.\n\nNO_REPLY", gap_seconds=0.05))
    run = ask(engine, "say something")
    assert (run.reason, run.text) == ("complete", "NO is what I say.")
    assert "NO is what I say.".startswith(deltas(engine))
    assert deltas(engine)
    assert valid(server)


@pytest.mark.parametrize("failure", [Failure(503, "busy"), Failure(429, "slow down"), Failure(400, "no")])
def test_a_turn_outlives_a_flush_that_failed(make_engine: MakeEngine, server: WireServer, failure: Failure) -> None:
    server.answer = lambda request: failure if is_flush(request) else Reply("Noted.")
    engine = engine_with(make_engine, server, compaction=FLUSHED_EARLY)

    run = ask(engine, "I like blue. " + "z" * 200)

    assert (run.state, run.text) == ("ok", "Noted.")
    assert {each.reason for each in run.model_attempts} == {reason_for(failure.status, "")}
    (reported,) = notices(engine)
    assert reported.startswith(f"{DONE} failed: ")
    assert ask(engine, "more").text == "Noted.", "and later ones too"


def test_a_flush_that_failed_after_it_saved_tells_both(make_engine: MakeEngine, server: WireServer) -> None:
    server.answer = lambda request: Failure(400, "no") if "toolu_w" in said(request) else saving(request)
    engine = engine_with(make_engine, server, compaction=FLUSHED_EARLY)
    assert ask(engine, "I like blue. " + "z" * 200).text == "Noted."
    (reported,) = notices(engine)
    assert reported.startswith(f"{DONE}: saved to memory/notes.md, then failed: ")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", ["functions.read file", "", "x" * 80, "lesen\u2026"])
def test_a_call_by_an_impossible_name_does_not_end_the_conversation(
    make_engine: MakeEngine, server: WireServer, api: str, name: str
) -> None:
    engine = engine_with(make_engine, server, api)
    server.script += [Reply(calls=[Called(name, {"path": "x"})]), Reply("I see.")]
    assert ask(engine, "read x").text == "I see."
    assert ask(engine, "go on").text == "ok"
    assert "there is no tool" in said(server.requests[-1])
    assert valid(server)
