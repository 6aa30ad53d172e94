"""Model calls that were under way when their run was taken away by a reset or a deletion (rule 14, I9)."""

from __future__ import annotations

import time

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.store.keys import LOST_CALL
from openclaw_workers.store.llm.ledger import Ledger
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.turn_records import Lease
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.other_worker import call_recorded, die, take_elsewhere

OWNER = WorkerId("here/1/a")

both = pytest.mark.parametrize("verb", ["reset", "delete"])


def end(engine: EngineHarness, verb: str) -> None:
    engine.control.reset(SESSION) if verb == "reset" else engine.control.delete(SESSION)


def ledger(engine: EngineHarness) -> list[ModelCall]:
    return list(Ledger(engine.stores.redis, engine.stores.keys).calls())


def lost_calls(engine: EngineHarness) -> list[str]:
    """Those on record, each of which is also due for a look."""
    redis, keys = engine.stores.redis, engine.stores.keys
    known = sorted(map(str, redis.hkeys(keys.lost_calls)))
    due = [str(item) for item in redis.zrange(keys.due, 0, -1)]
    assert sorted(item.removeprefix(LOST_CALL) for item in due if item.startswith(LOST_CALL)) == known
    return known


def look(engine: EngineHarness) -> None:
    """The lease that the owner had has run out, and a sweep comes by."""
    for lost_call in lost_calls(engine):
        engine.stores.redis.zadd(engine.stores.keys.due, {LOST_CALL + lost_call: 1})
    engine.sweeper.sweep()


def beat(engine: EngineHarness, seconds_ago: float) -> None:
    now, _ = engine.stores.redis.time()
    engine.stores.redis.zadd(engine.stores.keys.workers, {OWNER: int((now - seconds_ago) * 1000)})


@both
def test_the_call_of_a_dead_owner_is_recorded_although_nobody_takes_over(engine: EngineHarness, verb: str) -> None:
    engine.say("a question of some length")
    lease = take_elsewhere(engine).lease
    end(engine, verb)
    assert lost_calls(engine) == [f"{lease.run}:{lease.fence}"]
    beat(engine, seconds_ago=60)

    look(engine)

    (call,) = ledger(engine)
    assert (call.run, call.session, call.outcome, call.estimated) == (lease.run, SESSION, "lost", True)
    assert (call.provider, call.model, call.usage.output) == ("offline", "script", 0)
    assert call.usage.input > 0
    run = engine.stores.reader.run(lease.run)
    assert run is not None
    assert (run.state, run.usage) == ("killed", call.usage)
    assert lost_calls(engine) == []


@both
def test_it_is_recorded_too_if_the_turn_was_taken_from_the_dead_and_nobody_had_it_yet(
    engine: EngineHarness, verb: str
) -> None:
    engine.say("hello")
    take_elsewhere(engine)
    die(engine)
    assert engine.ctl("state") == "queued"

    end(engine, verb)
    look(engine)

    assert [call.outcome for call in ledger(engine)] == ["lost"]
    assert lost_calls(engine) == []


@pytest.mark.parametrize("end_by", ["reset", "delete", "sweep"])
def test_a_message_with_a_model_of_its_own_was_asking_that_one(make_engine: MakeEngine, end_by: str) -> None:
    """Also where the message is gone with its session, or nobody prepares its turn again."""
    engine = make_engine({"engine": {"maxAttempts": 1}})
    engine.say("hello", model="offline/demo")
    take_elsewhere(engine)
    if end_by == "sweep":
        die(engine)
    else:
        end(engine, end_by)
        look(engine)

    (call,) = ledger(engine)
    assert (call.outcome, call.provider, call.model) == ("lost", "offline", "demo")


@both
def test_an_owner_at_work_in_a_tool_was_asking_nobody(engine: EngineHarness, verb: str) -> None:
    engine.say("hello")
    call_recorded(engine, take_elsewhere(engine), "true")
    end(engine, verb)
    assert lost_calls(engine) == []


@pytest.mark.parametrize("state", ["idle", "queued"])
def test_a_session_that_nobody_carries_leaves_no_call_behind(engine: EngineHarness, state: str) -> None:
    engine.say("hello")
    if state == "idle":
        engine.work()
    end(engine, "reset")
    assert lost_calls(engine) == []


def test_an_owner_that_lives_is_left_to_say_itself_what_it_asked(engine: EngineHarness) -> None:
    engine.say("hello")
    lease = take_elsewhere(engine).lease
    end(engine, "reset")
    beat(engine, seconds_ago=0)
    for _ in range(2):
        look(engine)
        assert (ledger(engine), len(lost_calls(engine))) == ([], 1)

    said = told_by(lease, Usage(input=3, output=2))
    engine.runner.drop(lease, LedgerEntries([said]))

    assert lost_calls(engine) == []
    look(engine)
    assert ledger(engine) == [said]
    run = engine.stores.reader.run(lease.run)
    assert run is not None
    assert run.usage == said.usage


def test_an_owner_that_slept_corrects_what_was_guessed(engine: EngineHarness) -> None:
    engine.say("hello")
    lease = take_elsewhere(engine).lease
    end(engine, "delete")
    look(engine)
    assert [call.outcome for call in ledger(engine)] == ["lost"]

    said = told_by(lease, Usage(input=3, output=2))
    engine.runner.drop(lease, LedgerEntries([said]))

    assert ledger(engine) == [said]


def test_an_heir_that_was_taken_away_too_is_not_forgotten_by_the_owner_before_it(engine: EngineHarness) -> None:
    engine.say("hello")
    first = take_elsewhere(engine).lease
    die(engine)
    second = take_elsewhere(engine).lease
    end(engine, "reset")

    engine.runner.drop(first)

    assert lost_calls(engine) == [f"{second.run}:{second.fence}"]


def test_a_lost_call_that_cannot_be_read_is_reported_and_given_up(engine: EngineHarness) -> None:
    redis, keys = engine.stores.redis, engine.stores.keys
    redis.hset(keys.lost_calls, "run-1:1", "torn")
    redis.zadd(keys.due, {LOST_CALL + "run-1:1": 1})

    engine.sweeper.sweep()

    assert lost_calls(engine) == []
    assert any("lost call run-1:1" in str(raw) for raw in redis.lrange(keys.quarantine, 0, -1))


def told_by(lease: Lease, usage: Usage) -> ModelCall:
    return ModelCall(
        id=f"{lease.run}:{lease.fence}:1",
        at=int(time.time() * 1000),
        run=lease.run,
        session=lease.session,
        agent="main",
        tree=lease.session,
        provider="offline",
        model="script",
        usage=usage,
        outcome="aborted",
    )
