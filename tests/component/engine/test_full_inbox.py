"""A full inbox: what agents send is refused or tried again, and nothing of it is lost."""

from __future__ import annotations

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import MOST_WAITING
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.engine.client_graph import system_events_of
from openclaw_workers.store.keys import BATCH
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.session_steps import OTHER, run_on, send, text, tool_answers
from tests.support.programs import program, say, spawn


def fill(engine: EngineHarness, session: SessionKey) -> None:
    """Have as many messages wait in a session as can, behind a run that nobody takes."""
    redis, inbox = engine.stores.redis, engine.stores.keys.inbox(session)
    engine.say("first", session, mode="followup")
    engine.waker.turns.clear()
    raw = str(redis.zrange(inbox, 0, 0)[0])
    redis.zadd(inbox, {f'{{"filler":{number},{raw[1:]}': 10**6 + number for number in range(MOST_WAITING - 1)})


def empty(engine: EngineHarness, session: SessionKey) -> None:
    engine.stores.redis.zremrangebyrank(engine.stores.keys.inbox(session), 1, -1)


def test_a_message_to_a_session_with_a_full_inbox_is_refused_as_busy(engine: EngineHarness) -> None:
    fill(engine, OTHER)
    engine.say(text(send(OTHER, "hi", timeoutSeconds=0), say("oh")))
    engine.work()

    (answer,) = tool_answers(engine)
    assert (answer["status"], answer["accepted"]) == ("error", False)
    assert "busy" in answer["error"]
    assert engine.stores.redis.zcard(engine.stores.keys.inbox(OTHER)) == MOST_WAITING


def test_results_wait_until_the_inbox_of_their_parent_has_room(engine: EngineHarness) -> None:
    engine.say(text(spawn(program(say("found it"))), say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))
    (child,) = engine.stores.tree.children(SESSION)
    engine.runner.run(child.session_key, child.id)
    fill(engine, SESSION)
    assert child.batch is not None

    assert engine.announcer.announce(child.batch) is None
    batch = engine.stores.tree.batch(child.batch)
    assert batch is not None
    assert (batch.state, batch.tries) == (BatchState.SETTLED, 0)
    assert engine.stores.redis.zscore(engine.stores.keys.due, BATCH + child.batch)

    empty(engine, SESSION)
    assert engine.announcer.announce(child.batch) is BatchState.DELIVERED


def test_an_answer_for_a_session_with_a_full_inbox_stays_due(engine: EngineHarness) -> None:
    engine.say(text(say("hello")), OTHER)
    engine.work()
    engine.say(text(send(OTHER, text(say("b1"), say("b2")), timeoutSeconds=0), say("sent"), say("a1")))
    for turn in list(engine.waker.turns):
        engine.runner.run(*turn)
    engine.waker.turns.clear()
    engine.runner.run(OTHER, engine.stores.inbox.current_run(OTHER) or "")  # type: ignore[arg-type]
    fill(engine, SESSION)
    engine.sweeper.sweep()
    relays = engine.stores.keys.relays
    assert engine.stores.redis.hlen(relays) == 1

    empty(engine, SESSION)
    engine.stores.redis.zadd(
        engine.stores.keys.due, {f"relay|{name!s}": 1 for name in map(str, engine.stores.redis.hkeys(relays))}
    )
    run_on(engine)
    assert engine.stores.redis.hlen(relays) == 0


def test_an_event_for_a_session_with_a_full_inbox_is_kept_for_its_next_turn(engine: EngineHarness) -> None:
    fill(engine, SESSION)

    told_of = system_events_of(engine.stores, engine.waker).add(SESSION, source="disk", text="full", key="k", wake=True)

    assert told_of == "added"
    assert len(engine.stores.system_events.waiting(SESSION)) == 1
