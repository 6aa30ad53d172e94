"""A child that stays, bound to a thread of its parent's channel."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.tree import BatchState, Cleanup, SpawnMode
from openclaw_workers.engine.routing.thread_bindings import session_in_thread
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.tree_builder import CHILD, announces, ask, child, children, first_turn, row, settle, text
from tests.support.programs import program, say, spawn

SPOKEN = Route(channel="cli", to="desk", account_id="me")


def stay(engine: EngineHarness, **more: Any) -> tuple[SessionKey, Route]:
    """Spawn a child in a thread; gives its session, and the route of what is said there."""
    engine.say("hello", route=SPOKEN)
    engine.work()
    engine.say(text(spawn(CHILD, mode="session", thread=True, **more), say("spawned"), say("heard")), route=SPOKEN)
    engine.work()
    run = child(engine)
    thread = row(engine, run.session_key)["lastThreadId"]
    return run.session_key, Route(channel="cli", to="desk", account_id="me", thread_id=thread)


def test_what_is_said_in_its_thread_goes_to_the_child_and_nothing_else_does(engine: EngineHarness) -> None:
    session, route = stay(engine)

    assert session_in_thread(engine.stores.sessions, route) == session
    assert session_in_thread(engine.stores.sessions, SPOKEN) is None
    assert session_in_thread(engine.stores.sessions, route.model_copy(update={"thread_id": "other"})) is None
    assert session_in_thread(engine.stores.sessions, route.model_copy(update={"account_id": "you"})) is None


def test_the_answer_names_the_thread_and_says_that_it_stays(engine: EngineHarness) -> None:
    engine.say("hello", route=SPOKEN)
    engine.work()
    answer = ask(engine, mode="session", thread=True)

    run = child(engine)
    assert answer["threadId"] == row(engine, run.session_key)["lastThreadId"]
    assert answer["mode"] == "session"
    assert "thread" in answer["note"]
    assert (run.spawn_mode, run.cleanup) == (SpawnMode.SESSION, Cleanup.KEEP)


def test_a_thread_alone_means_a_session_and_its_cleanup_is_to_keep(engine: EngineHarness) -> None:
    engine.say("hello", route=SPOKEN)
    engine.work()
    ask(engine, thread=True, cleanup="delete")

    run = child(engine)
    assert (run.spawn_mode, run.cleanup) == (SpawnMode.SESSION, Cleanup.KEEP)


def test_a_conversation_in_the_thread_stays_there_and_is_not_announced(engine: EngineHarness) -> None:
    # Given a child that has done its first task, which its parent was told of
    session, route = stay(engine)
    assert settle(engine) == [BatchState.DELIVERED]
    before = len(announces(engine))

    # When a person goes on in its thread
    queued = engine.say(
        text(say("still here")), session_in_thread(engine.stores.sessions, route) or SESSION, route=route
    )
    settle(engine)

    # Then the child answers there, and its parent hears nothing of it
    run = engine.run_of(queued)
    assert (run.session_key, run.state, run.text) == (session, RunState.OK, "still here")
    assert not run.is_child
    assert len(announces(engine)) == before
    stored = row(engine, session)
    assert (stored["lastChannel"], stored["lastTo"], stored["lastThreadId"]) == ("cli", "desk", route.thread_id)


def test_it_is_not_archived_when_its_first_task_is_done(engine: EngineHarness) -> None:
    session, _ = stay(engine)
    settle(engine)

    assert engine.stores.redis.zscore(engine.stores.keys.due, f"cleanup|{session}") is None


def test_deleting_the_child_ends_the_binding(engine: EngineHarness) -> None:
    session, route = stay(engine)
    settle(engine)
    engine.control.delete(session)
    assert session_in_thread(engine.stores.sessions, route) is None
    assert engine.stores.redis.exists(engine.stores.keys.threads) == 0


def test_resetting_the_child_ends_the_binding(engine: EngineHarness) -> None:
    session, route = stay(engine)
    settle(engine)
    engine.control.reset(session)
    assert session_in_thread(engine.stores.sessions, route) is None


def test_a_command_to_reset_in_the_thread_ends_the_binding(engine: EngineHarness) -> None:
    session, route = stay(engine)
    settle(engine)
    engine.say("/new", session, route=route)
    engine.work()
    assert session_in_thread(engine.stores.sessions, route) is None


def test_a_child_that_stays_and_spawns_hears_its_own_children_like_a_root(engine: EngineHarness) -> None:
    session, route = stay(engine)
    settle(engine)
    engine.say(text(spawn(CHILD), say("spawned"), say("heard below")), session, route=route)

    assert settle(engine) == [BatchState.DELIVERED]
    (run,) = children(engine, session)
    assert run.state is RunState.OK
    assert len(announces(engine, session)) == 1


def test_what_a_deleted_child_that_stayed_had_spawned_is_asked_to_whoever_spawned_it(engine: EngineHarness) -> None:
    session, route = stay(engine)
    settle(engine)
    engine.say(text(spawn(CHILD), say("spawned"), say("never")), session, route=route)
    engine.runner.run(*engine.waker.turns.pop(0))
    (run,) = children(engine, session)

    engine.control.delete(session)

    assert settle(engine) == [BatchState.DELIVERED]
    _, reported = announces(engine)
    assert run.id in reported
    assert "status: failed (session-delete)" in reported


def test_a_session_nobody_speaks_to_has_no_thread_to_offer(engine: EngineHarness) -> None:
    middle = program(spawn(CHILD, mode="session", thread=True), say("done"))
    first_turn(engine, spawn(middle))
    settle(engine)

    (result,) = [entry for entry in engine.log(child(engine).session_key) if entry.role == "toolResult"]
    assert "no thread to bind it to" in result.content[0].text
