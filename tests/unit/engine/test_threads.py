"""A child that stays, bound to a thread of its parent's channel."""

from __future__ import annotations

from typing import Any

from openclaw_workers.engine.threads import session_in_thread
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.messages import Route
from openclaw_workers.models.runs import RunState
from openclaw_workers.models.tree import BatchState, Cleanup, SpawnMode
from tests.support.programs import program, say, spawn
from tests.unit.engine.conftest import SESSION, House
from tests.unit.engine.tree_talk import CHILD, announces, ask, child, children, first_turn, row, settle, text

SPOKEN = Route(channel="cli", to="desk", account_id="me")


def stay(house: House, **more: Any) -> tuple[SessionKey, Route]:
    """Spawn a child in a thread; gives its session, and the route of what is said there."""
    house.say("hello", route=SPOKEN)
    house.work()
    house.say(text(spawn(CHILD, mode="session", thread=True, **more), say("spawned"), say("heard")), route=SPOKEN)
    house.work()
    run = child(house)
    thread = row(house, run.session_key)["lastThreadId"]
    return run.session_key, Route(channel="cli", to="desk", account_id="me", thread_id=thread)


def test_what_is_said_in_its_thread_goes_to_the_child_and_nothing_else_does(house: House) -> None:
    session, route = stay(house)

    assert session_in_thread(house.stores, route) == session
    assert session_in_thread(house.stores, SPOKEN) is None
    assert session_in_thread(house.stores, route.model_copy(update={"thread_id": "other"})) is None
    assert session_in_thread(house.stores, route.model_copy(update={"account_id": "you"})) is None


def test_the_answer_names_the_thread_and_says_that_it_stays(house: House) -> None:
    house.say("hello", route=SPOKEN)
    house.work()
    answer = ask(house, mode="session", thread=True)

    run = child(house)
    assert answer["threadId"] == row(house, run.session_key)["lastThreadId"]
    assert answer["mode"] == "session"
    assert "thread" in answer["note"]
    assert (run.spawn_mode, run.cleanup) == (SpawnMode.SESSION, Cleanup.KEEP)


def test_a_thread_alone_means_a_session_and_its_cleanup_is_to_keep(house: House) -> None:
    house.say("hello", route=SPOKEN)
    house.work()
    ask(house, thread=True, cleanup="delete")

    run = child(house)
    assert (run.spawn_mode, run.cleanup) == (SpawnMode.SESSION, Cleanup.KEEP)


def test_a_conversation_in_the_thread_stays_there_and_is_not_announced(house: House) -> None:
    # Given a child that has done its first task, which its parent was told of
    session, route = stay(house)
    assert settle(house) == [BatchState.DELIVERED]
    before = len(announces(house))

    # When a person goes on in its thread
    queued = house.say(text(say("still here")), session_in_thread(house.stores, route) or SESSION, route=route)
    settle(house)

    # Then the child answers there, and its parent hears nothing of it
    run = house.run_of(queued)
    assert (run.session_key, run.state, run.text) == (session, RunState.OK, "still here")
    assert not run.is_child
    assert len(announces(house)) == before
    stored = row(house, session)
    assert (stored["lastChannel"], stored["lastTo"], stored["lastThreadId"]) == ("cli", "desk", route.thread_id)


def test_it_is_not_archived_when_its_first_task_is_done(house: House) -> None:
    session, _ = stay(house)
    settle(house)

    assert house.stores.redis.zscore(house.stores.keys.due, f"cleanup|{session}") is None


def test_deleting_the_child_ends_the_binding(house: House) -> None:
    session, route = stay(house)
    settle(house)
    house.control.delete(session)
    assert session_in_thread(house.stores, route) is None
    assert house.stores.redis.exists(house.stores.keys.threads) == 0


def test_resetting_the_child_ends_the_binding(house: House) -> None:
    session, route = stay(house)
    settle(house)
    house.control.reset(session)
    assert session_in_thread(house.stores, route) is None


def test_a_command_to_begin_anew_in_the_thread_ends_the_binding(house: House) -> None:
    session, route = stay(house)
    settle(house)
    house.say("/new", session, route=route)
    house.work()
    assert session_in_thread(house.stores, route) is None


def test_a_child_that_stays_and_spawns_hears_its_own_children_like_a_root(house: House) -> None:
    session, route = stay(house)
    settle(house)
    house.say(text(spawn(CHILD), say("spawned"), say("heard below")), session, route=route)

    assert settle(house) == [BatchState.DELIVERED]
    (run,) = children(house, session)
    assert run.state is RunState.OK
    assert len(announces(house, session)) == 1


def test_what_a_deleted_child_that_stayed_had_spawned_is_told_to_whoever_spawned_it(house: House) -> None:
    session, route = stay(house)
    settle(house)
    house.say(text(spawn(CHILD), say("spawned"), say("never")), session, route=route)
    house.runner.run(*house.waker.turns.pop(0))
    (run,) = children(house, session)

    house.control.delete(session)

    assert settle(house) == [BatchState.DELIVERED]
    _, told = announces(house)
    assert run.id in told
    assert "status: failed (session-delete)" in told


def test_a_session_nobody_speaks_to_has_no_thread_to_offer(house: House) -> None:
    middle = program(spawn(CHILD, mode="session", thread=True), say("done"))
    first_turn(house, spawn(middle))
    settle(house)

    (result,) = [entry for entry in house.log(child(house).session_key) if entry.role == "toolResult"]
    assert "no thread to bind it to" in result.content[0].text
