"""What a turn may do is settled by who asked for it, and nothing that follows from it may do more."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, InboxEntry, QueueMode, Route
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.registry import builtin_tools
from openclaw_workers.tools.web.on_first_use import disabled_tools
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import OTHER, heard, run_on, said, send, text, tool_answers, use
from tests.support.programs import call, execute, program, say, spawn

GROUP = SessionKey("agent:main:telegram:group:-100")
EXEC = call(execute("echo done"))
BELOW_OWNER = [Authority.ANYONE, Authority.AUTHORIZED]


def ask(engine: EngineHarness, words: str, authority: Authority, session: SessionKey = SESSION, **more: Any) -> Queued:
    return engine.say(words, session, authority=authority, shown_as=words, **more)


def results(engine: EngineHarness, session: SessionKey = SESSION) -> list[str]:
    entries = [entry for entry in engine.log(session) if isinstance(entry, ToolResultEntry)]
    return [entry.content[0].text for entry in entries]


def authorities(engine: EngineHarness, *sessions: SessionKey) -> dict[SessionKey, set[str]]:
    """The authority of every run of these sessions."""
    runs = [run for run in engine.stores.reader.runs(100) if run.session_key in sessions]
    return {session: {run.authority for run in runs if run.session_key == session} for session in sessions}


def tools_of(engine: EngineHarness, taken: Taken) -> set[str]:
    bound = [InboxEntry.model_validate_json(raw) for raw in taken.bound]
    return set(engine.built.preparer.prepare(taken, bound).setup.tools)


def test_an_owner_has_all_tools_and_others_have_nothing_of_the_host(engine: EngineHarness) -> None:
    offered = {}
    for number, authority in enumerate(Authority):
        session = SessionKey(f"agent:main:s{number}")
        ask(engine, "hello", authority, session)
        offered[authority] = tools_of(engine, engine.take(session))

    session_tools = {
        *("sessions_spawn", "sessions_send", "sessions_yield", "sessions_list", "sessions_history", "sessions_search"),
        *("session_status", "subagents"),
    }
    host = {"exec", "read", "write", "edit", "apply_patch", "grep", "find", "ls", "memory_search", "cron"}
    assert offered[Authority.ANYONE] == offered[Authority.AUTHORIZED] >= session_tools
    assert offered[Authority.ANYONE].isdisjoint(host)
    disabled = disabled_tools(engine.loaded.settings.tools.web).keys()
    others = {tool.name for tool in builtin_tools()} - session_tools - disabled
    assert offered[Authority.OWNER] == session_tools | others
    assert others >= {"cron", "exec", "read", "write", "edit", "memory_search", "memory_get", "memory_write"}


@pytest.mark.parametrize("authority", BELOW_OWNER)
def test_a_tool_that_is_not_offered_cannot_be_called_either(engine: EngineHarness, authority: Authority) -> None:
    queued = ask(engine, text(EXEC, say("ok")), authority)
    engine.work()

    assert engine.run_of(queued).authority == authority
    assert "no tool" in results(engine)[0], results(engine)
    assert "done" not in results(engine)[0]


@pytest.mark.parametrize("authority", list(Authority))
def test_what_is_spawned_announced_and_spawned_after_that_has_the_authority_of_who_asked(
    engine: EngineHarness, authority: Authority
) -> None:
    grandchild = program(EXEC, say("from below"))
    child = program(spawn(grandchild), say("waiting"), say("all done"))
    ask(engine, text(spawn(child), say("spawned"), EXEC, say("heard")), authority)
    run_on(engine)

    runs = engine.stores.reader.runs(100)
    assert len(runs) == 4, "the question, the child, its child, and the turn that heard of it"
    assert {run.authority for run in runs} == {authority}
    assert all(run.state is RunState.OK for run in runs)
    (low,) = [run for run in runs if run.depth == 2]
    done = [result for session in (SESSION, low.session_key) for result in results(engine, session)]
    executed = [result for result in done if result.strip().startswith("done") or "\ndone" in result]
    assert len(executed) == (2 if authority is Authority.OWNER else 0), done


@pytest.mark.parametrize("authority", list(Authority))
def test_an_exchange_between_sessions_has_the_authority_of_who_asked(
    make_engine: MakeEngine, authority: Authority
) -> None:
    engine = make_engine({"session": {"agentToAgent": {"maxPingPongTurns": 2}}})
    child = program(say("first"))
    ask(engine, text(spawn(child, label="worker"), say("spawned"), say("heard")), Authority.OWNER)
    run_on(engine)
    (worker,) = engine.stores.tree.children(SESSION)
    # To its own sub-agent, because only an owner's turn reaches other sessions.
    words = text(use("subagents", action="send", target="worker", message=text(EXEC, say("again"))), say("sent"))
    ask(engine, words, authority)
    run_on(engine)

    runs = [run for run in engine.stores.reader.runs(100) if run.session_key == worker.session_key]
    assert sorted(run.authority for run in runs) == sorted([Authority.OWNER, authority])
    newest = engine.stores.reader.runs(1)[0]
    assert (newest.session_key, newest.authority) == (SESSION, authority), "the turn that hears the answer"


@pytest.mark.parametrize("authority", [Authority.OWNER])
def test_answers_that_are_passed_on_have_the_authority_of_the_run_that_gave_them(
    make_engine: MakeEngine, authority: Authority
) -> None:
    engine = make_engine({"session": {"agentToAgent": {"maxPingPongTurns": 2}}})
    engine.say(text(say("hello")), OTHER, route=Route(channel="telegram", to="42"))
    engine.work()
    ask(engine, text(send(OTHER, text(say("one"), say("two")), timeoutSeconds=0), say("sent"), say("back")), authority)
    run_on(engine)

    assert len(heard(engine, OTHER)) >= 2
    assert len(heard(engine)) >= 1
    assert authorities(engine, SESSION, OTHER) == {SESSION: {authority}, OTHER: {authority}}


@pytest.mark.parametrize("authority", BELOW_OWNER)
def test_nobody_but_an_owner_reads_or_writes_to_other_sessions(engine: EngineHarness, authority: Authority) -> None:
    engine.say(text(say("a secret")), OTHER)
    engine.work()
    steps = [use("sessions_history", sessionKey=OTHER), send(OTHER, "tell me", timeoutSeconds=0), use("sessions_list")]
    ask(engine, text(*steps, say("done")), authority, GROUP)
    run_on(engine)

    history, sent, listed = tool_answers(engine, GROUP)
    assert (history["status"], sent["status"]) == ("forbidden", "forbidden")
    assert [each["key"] for each in listed["sessions"]] == [GROUP]
    assert heard(engine, OTHER) == []


@pytest.mark.parametrize("authority", list(Authority))
def test_a_turn_for_a_stranger_does_not_choose_the_model(engine: EngineHarness, authority: Authority) -> None:
    ask(engine, text(use("session_status", model="offline/demo"), say("done")), authority)
    engine.work()

    chosen = engine.stores.reader.row(SESSION).get("modelOverride")
    assert chosen == (None if authority is Authority.ANYONE else "demo")


def test_a_message_of_somebody_trusted_less_is_not_steered_into_a_running_turn(make_engine: MakeEngine) -> None:
    engine = make_engine({"tools": {"exec": {"security": "full", "ask": "off"}}})
    first = ask(engine, text(EXEC, say("for the owner")), Authority.OWNER, GROUP)
    lower = ask(engine, text(EXEC, say("for a member")), Authority.AUTHORIZED, GROUP, mode=QueueMode.STEER)
    same = ask(engine, text(say("steered")), Authority.OWNER, GROUP, mode=QueueMode.STEER)
    engine.work()

    assert engine.receipt(same).run == engine.receipt(first).run
    assert engine.receipt(lower).run != engine.receipt(first).run
    assert engine.run_of(first).authority is Authority.OWNER
    assert engine.run_of(lower).authority is Authority.AUTHORIZED
    assert "no tool" in results(engine, GROUP)[-1]
    assert said(engine, GROUP)[-1] == "for a member"


def test_a_message_of_somebody_trusted_more_may_be_steered_in_and_gets_no_more_tools(engine: EngineHarness) -> None:
    queued = ask(engine, text(use("session_status"), say("unsteered")), Authority.AUTHORIZED, GROUP)
    ask(engine, text(EXEC, say("steered")), Authority.OWNER, GROUP, mode=QueueMode.STEER)
    engine.work()

    assert engine.run_of(queued).authority is Authority.AUTHORIZED
    assert "no tool" in results(engine, GROUP)[-1]


def test_who_may_not_stop_a_turn_does_not_interrupt_one(engine: EngineHarness) -> None:
    first = ask(engine, text(say("for the owner")), Authority.OWNER, GROUP)
    waiting = ask(engine, text(say("second")), Authority.OWNER, GROUP)
    ask(engine, "me first", Authority.ANYONE, GROUP, mode=QueueMode.INTERRUPT)
    engine.work()

    assert engine.run_of(first).state is RunState.OK
    assert engine.receipt(waiting).state == "answered"
    ask(engine, text(say("x")), Authority.OWNER, GROUP)
    cancelled = ask(engine, text(say("y")), Authority.OWNER, GROUP)
    ask(engine, text(say("z")), Authority.AUTHORIZED, GROUP, mode=QueueMode.INTERRUPT)
    assert engine.receipt(cancelled).state == "cancelled"


@pytest.mark.parametrize(
    ("first", "second"), [(Authority.OWNER, Authority.AUTHORIZED), (Authority.AUTHORIZED, Authority.OWNER)]
)
def test_a_child_that_several_asked_has_the_lowest_authority_of_them(
    engine: EngineHarness, first: Authority, second: Authority
) -> None:
    """Its result goes to the session that spawned it, and must not act there with more than the lowest."""
    ask(engine, text(spawn(program(say("one")), label="worker"), say("spawned"), say("heard")), first)
    engine.runner.run(*engine.waker.turns.pop())
    (child,) = engine.stores.tree.children(SESSION)
    ask(engine, text(say("two")), second, child.session_key)
    run_on(engine)

    (run,) = [each for each in engine.stores.tree.children(SESSION) if each.id == child.id]
    assert run.authority is Authority.AUTHORIZED
    assert engine.stores.reader.runs(1)[0].authority is Authority.AUTHORIZED


@pytest.mark.parametrize("authority", list(Authority))
def test_only_an_owner_may_use_a_program_that_has_tools_of_its_own(
    make_engine: MakeEngine, authority: Authority
) -> None:
    models = {"cli": {"echo": {"command": ["cat"], "input": "stdin"}}}
    engine = make_engine({"agents": {"defaults": {"model": "cli/echo"}}, "models": models})
    queued = ask(engine, "hello", authority)
    engine.work()

    run = engine.run_of(queued)
    if authority is Authority.OWNER:
        assert run.state is RunState.OK
    else:
        assert run.state is RunState.ERROR
        assert "only owners may use it" in (run.error or "")


@pytest.mark.parametrize(
    ("session", "authority", "shown"),
    [
        (SESSION, Authority.OWNER, True),
        (SESSION, Authority.AUTHORIZED, False),
        (GROUP, Authority.OWNER, False),
        (SessionKey("agent:main:telegram:group:-100:topic:3"), Authority.OWNER, False),
        (SessionKey("agent:main:telegram:dm:7"), Authority.OWNER, True),
    ],
)
def test_private_files_are_in_prompts_of_an_owners_direct_chats_only(
    engine: EngineHarness, session: SessionKey, authority: Authority, shown: bool
) -> None:
    workspace = engine.loaded.state_dir / "workspace"
    workspace.mkdir(parents=True)
    for name in ("USER.md", "MEMORY.md", "SOUL.md"):
        (workspace / name).write_text(f"content of {name}")
    ask(engine, "hello", authority, session)
    taken = engine.take(session)
    bound = [InboxEntry.model_validate_json(raw) for raw in taken.bound]
    system = engine.built.preparer.prepare(taken, bound).setup.system

    assert "content of SOUL.md" in system
    assert ("content of USER.md" in system, "content of MEMORY.md" in system) == (shown, shown)


def test_the_runtime_line_says_what_the_channel_can_do(engine: EngineHarness) -> None:
    telegram = Route(channel="telegram", to="42")
    row = {"lastCapabilities": "threads,buttons"}

    def runtime() -> str:
        taken = engine.take()
        bound = [InboxEntry.model_validate_json(raw) for raw in taken.bound]
        line = engine.built.preparer.prepare(taken, bound).setup.system_tail
        engine.control.stop_session(SESSION)
        engine.turns.release(taken.lease)
        engine.work()
        return line

    ask(engine, "hi", Authority.OWNER, route=telegram, row=row)
    assert "channel=telegram | capabilities=threads,buttons |" in runtime()
    ask(engine, "hi", Authority.OWNER)
    assert "channel=cli | capabilities=none |" in runtime()
