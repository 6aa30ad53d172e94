"""The sweep: accepted work that nobody looks after is found, woken, settled, and never blocks the rest."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import SessionKey, WorkerId
from openclaw_workers.domain.ledger import call_id
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.transcript import AssistantEntry, NoticeEntry, TextBlock, ToolCallBlock, ToolResultEntry
from openclaw_workers.store.keys import TURN
from openclaw_workers.store.llm.ledger import Ledger
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine

OTHER = SessionKey("agent:main:other")


def fall_due(engine: EngineHarness, *items: str) -> None:
    engine.stores.redis.zadd(engine.stores.keys.due, dict.fromkeys(items, 1))


def crash(engine: EngineHarness, session: SessionKey = SESSION) -> None:
    """A worker takes the session and dies; its lease runs out."""
    run = engine.ctl("run", session)
    taken = engine.turns.take(
        session,
        run,  # type: ignore[arg-type]
        Lane.MAIN,
        nonce="n" + engine.ctl("fence", session),
        time_ms=60_000,
        freshness=engine.built.resets.times(session),
        may_suspect=True,
    )
    assert isinstance(taken, Taken)
    engine.set_ctl("lease_until", 1, session)
    fall_due(engine, TURN + session)


def test_a_lost_wake_is_repeated(engine: EngineHarness) -> None:
    queued = engine.say("hi")
    engine.waker.turns.clear()
    fall_due(engine, TURN + SESSION)

    wait = engine.sweeper.sweep()

    assert engine.waker.turns == [(SESSION, queued.run)]
    assert 0 < wait <= 5


def test_nothing_is_added_while_the_queue_holds_older_wakes(engine: EngineHarness) -> None:
    engine.say("hi")
    engine.waker.turns.clear()
    engine.waker.oldest = 1
    fall_due(engine, TURN + SESSION)

    engine.sweeper.sweep()

    assert engine.waker.turns == []


def test_a_turn_whose_worker_died_too_often_is_settled_and_the_session_goes_on(engine: EngineHarness) -> None:
    poison = engine.say("poison")
    for _ in range(3):
        crash(engine)
        engine.sweeper.sweep()
    after = engine.say('{"steps": [{"text": "all well"}]}')
    engine.work()

    assert engine.receipt(poison).state == "failed"
    run = engine.run_of(poison)
    assert (run.state, run.reason) == ("error", "lost")
    assert "died 3 times" in (run.error or "")
    assert any(isinstance(entry, NoticeEntry) for entry in engine.log())
    assert engine.run_of(after).text == "all well"
    calls = list(Ledger(engine.stores.redis, engine.stores.keys).calls())
    assert sorted(call.outcome for call in calls) == ["lost"] * 3 + ["ok"], "each may have been asking the model"
    assert run.usage.input == sum(call.usage.input for call in calls if call.outcome == "lost") > 0


def test_a_turn_that_moved_but_lost_too_many_workers_is_not_said_to_have_stood_still(make_engine: MakeEngine) -> None:
    engine = make_engine({"engine": {"maxAttempts": 2}})
    sent = engine.say("hi")
    for number in range(7):
        taken = engine.take(nonce=f"n{number}")
        engine.turns.step(taken.lease, taken.step + 1, [AssistantEntry(content=[TextBlock(text="a step")])])
        engine.set_ctl("lease_until", 1)
        fall_due(engine, TURN + SESSION)
        engine.sweeper.sweep()

    error = engine.run_of(sent).error or ""
    assert error == "the turn was given up: 7 workers died while they carried it"


def test_a_lost_call_has_the_id_its_owner_knows_it_by_although_a_sweeper_died_too(make_engine: MakeEngine) -> None:
    """Rule 14: else the call of an owner that only slept would stand in the ledger twice."""
    engine = make_engine({"engine": {"maxAttempts": 1}})
    engine.say("hello")
    slept = engine.take()
    engine.set_ctl("lease_until", 1)
    _, recovery = engine.stores.leases.recover(
        SESSION, Lane.MAIN, WorkerId("dies"), oldest_wake_ms=0, cap=0, max_attempts=1
    )
    assert recovery.lease is not None
    engine.set_ctl("lease_until", 1)
    fall_due(engine, TURN + SESSION)
    engine.sweeper.sweep()

    (call,) = Ledger(engine.stores.redis, engine.stores.keys).calls()
    assert (call.outcome, call.id) == ("lost", call_id(slept.lease.run, slept.lease.fence, 1))


def test_calls_of_a_turn_that_is_given_up_are_closed(make_engine: MakeEngine) -> None:
    engine = make_engine({"engine": {"maxAttempts": 1}})
    engine.say("poison")
    crash(engine)
    engine.set_ctl("lease_until", 10**15)
    call = ToolCallBlock(id="call-1", name="exec", arguments={"command": "x"})
    engine.stores.redis.rpush(
        engine.stores.keys.log(SESSION), AssistantEntry(content=[call]).model_dump_json(by_alias=True)
    )
    engine.set_ctl("lease_until", 1)

    engine.sweeper.sweep()

    roles = [entry.role for entry in engine.log()]
    assert roles == ["user", "assistant", "toolResult", "notice"]
    closed = engine.log()[2]
    assert isinstance(closed, ToolResultEntry)
    assert closed.is_error


@pytest.mark.parametrize("damaged", [TURN + "agent:main:damaged", TURN + "no such form"])
def test_a_session_that_cannot_be_swept_does_not_keep_others_from_it(engine: EngineHarness, damaged: str) -> None:
    engine.stores.redis.set(engine.stores.keys.ctl(damaged.removeprefix(TURN)), "not a hash")
    queued = engine.say("hi", OTHER)
    engine.waker.turns.clear()
    fall_due(engine, damaged, TURN + OTHER)

    engine.sweeper.sweep()

    assert engine.waker.turns == [(OTHER, queued.run)]


def test_an_archive_that_nobody_knows_is_dropped_from_the_index(engine: EngineHarness) -> None:
    fall_due(engine, "archive|abc")
    engine.sweeper.sweep()
    assert engine.stores.redis.zscore(engine.stores.keys.due, "archive|abc") is None


def test_the_sweep_writes_what_a_reset_cut_off(engine: EngineHarness) -> None:
    engine.say("remember me")
    engine.work()
    session_id = engine.stores.reader.row(SESSION)["sessionId"]
    engine.control.reset(SESSION)

    engine.sweeper.sweep()

    path = engine.loaded.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    assert "remember me" in path.read_text()
    assert engine.stores.redis.exists(engine.stores.keys.archives) == 0


def test_a_directory_that_cannot_be_written_keeps_no_session_from_being_swept(engine: EngineHarness) -> None:
    engine.say("remember me")
    engine.work()
    engine.control.reset(SESSION)
    queued = engine.say("hi", OTHER)
    engine.waker.turns.clear()
    fall_due(engine, TURN + OTHER)
    (engine.loaded.state_dir / "agents").write_text("a file where a folder belongs")

    engine.sweeper.sweep()

    assert engine.waker.turns == [(OTHER, queued.run)]
    assert engine.stores.redis.hlen(engine.stores.keys.archives) == 1, "all of it is still in Redis"


def test_what_this_version_does_not_know_is_left_for_a_newer_one(engine: EngineHarness) -> None:
    fall_due(engine, "mystery|x")
    engine.sweeper.sweep()
    assert engine.stores.redis.zscore(engine.stores.keys.due, "mystery|x") is not None
