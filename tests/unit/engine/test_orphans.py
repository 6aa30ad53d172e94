"""Model calls that were under way when their run was taken away by a reset or a deletion (rule 14, I9)."""

from __future__ import annotations

import time

import pytest

from openclaw_workers.models.ids import WorkerId
from openclaw_workers.models.ledger import ModelCall
from openclaw_workers.models.transcript import Usage
from openclaw_workers.store.books import Books
from openclaw_workers.store.keys import ORPHAN
from openclaw_workers.store.ledger import Ledger
from openclaw_workers.store.turns import Lease
from tests.unit.engine.conftest import SESSION, House, MakeHouse
from tests.unit.engine.elsewhere import call_recorded, die, take_elsewhere

OWNER = WorkerId("here/1/a")

both = pytest.mark.parametrize("verb", ["reset", "delete"])


def end(house: House, verb: str) -> None:
    house.control.reset(SESSION) if verb == "reset" else house.control.delete(SESSION)


def ledger(house: House) -> list[ModelCall]:
    return list(Ledger(house.stores.redis, house.stores.keys).calls())


def orphans(house: House) -> list[str]:
    """Those on record, each of which is also due for a look."""
    redis, keys = house.stores.redis, house.stores.keys
    known = sorted(map(str, redis.hkeys(keys.orphans)))
    due = [str(item) for item in redis.zrange(keys.due, 0, -1)]
    assert sorted(item.removeprefix(ORPHAN) for item in due if item.startswith(ORPHAN)) == known
    return known


def look(house: House) -> None:
    """The lease that the owner had has run out, and a sweep comes by."""
    for orphan in orphans(house):
        house.stores.redis.zadd(house.stores.keys.due, {ORPHAN + orphan: 1})
    house.sweeper.sweep()


def beat(house: House, seconds_ago: float) -> None:
    now, _ = house.stores.redis.time()
    house.stores.redis.zadd(house.stores.keys.workers, {OWNER: int((now - seconds_ago) * 1000)})


@both
def test_the_call_of_a_dead_owner_is_booked_although_nobody_takes_over(house: House, verb: str) -> None:
    house.say("a question of some length")
    lease = take_elsewhere(house).lease
    end(house, verb)
    assert orphans(house) == [f"{lease.run}:{lease.fence}"]
    beat(house, seconds_ago=60)

    look(house)

    (call,) = ledger(house)
    assert (call.run, call.session, call.outcome, call.estimated) == (lease.run, SESSION, "lost", True)
    assert (call.provider, call.model, call.usage.output) == ("offline", "script", 0)
    assert call.usage.input > 0
    run = house.stores.reader.run(lease.run)
    assert run is not None
    assert (run.state, run.usage) == ("killed", call.usage)
    assert orphans(house) == []


@both
def test_it_is_booked_too_if_the_turn_was_taken_from_the_dead_and_nobody_had_it_yet(house: House, verb: str) -> None:
    house.say("hello")
    take_elsewhere(house)
    die(house)
    assert house.ctl("state") == "queued"

    end(house, verb)
    look(house)

    assert [call.outcome for call in ledger(house)] == ["lost"]
    assert orphans(house) == []


@pytest.mark.parametrize("end_by", ["reset", "delete", "sweep"])
def test_a_message_with_a_model_of_its_own_was_asking_that_one(make_house: MakeHouse, end_by: str) -> None:
    """Also where the message is gone with its session, or nobody prepares its turn again."""
    house = make_house({"engine": {"maxAttempts": 1}})
    house.say("hello", model="offline/demo")
    take_elsewhere(house)
    if end_by == "sweep":
        die(house)
    else:
        end(house, end_by)
        look(house)

    (call,) = ledger(house)
    assert (call.outcome, call.provider, call.model) == ("lost", "offline", "demo")


@both
def test_an_owner_at_work_in_a_tool_was_asking_nobody(house: House, verb: str) -> None:
    house.say("hello")
    call_recorded(house, take_elsewhere(house), "true")
    end(house, verb)
    assert orphans(house) == []


@both
@pytest.mark.parametrize("dead", [True, False])
def test_an_owner_that_waited_for_its_turn_to_ask_was_asking_nobody(house: House, verb: str, dead: bool) -> None:
    house.say("hello")
    house.turns.rest(take_elsewhere(house).lease, rests=True)
    if dead:
        die(house)
    end(house, verb)
    look(house)
    assert (ledger(house), orphans(house)) == ([], [])


@pytest.mark.parametrize("state", ["idle", "queued"])
def test_a_session_that_nobody_carries_leaves_no_call_behind(house: House, state: str) -> None:
    house.say("hello")
    if state == "idle":
        house.work()
    end(house, "reset")
    assert orphans(house) == []


def test_an_owner_that_lives_is_left_to_say_itself_what_it_asked(house: House) -> None:
    house.say("hello")
    lease = take_elsewhere(house).lease
    end(house, "reset")
    beat(house, seconds_ago=0)
    for _ in range(2):
        look(house)
        assert (ledger(house), len(orphans(house))) == ([], 1)

    said = told_by(lease, Usage(input=3, output=2))
    house.runner.let_go(lease, Books([said]))

    assert orphans(house) == []
    look(house)
    assert ledger(house) == [said]
    run = house.stores.reader.run(lease.run)
    assert run is not None
    assert run.usage == said.usage


def test_an_owner_that_slept_corrects_what_was_guessed(house: House) -> None:
    house.say("hello")
    lease = take_elsewhere(house).lease
    end(house, "delete")
    look(house)
    assert [call.outcome for call in ledger(house)] == ["lost"]

    said = told_by(lease, Usage(input=3, output=2))
    house.runner.let_go(lease, Books([said]))

    assert ledger(house) == [said]


def test_an_heir_that_was_taken_away_too_is_not_forgotten_by_the_owner_before_it(house: House) -> None:
    house.say("hello")
    first = take_elsewhere(house).lease
    die(house)
    second = take_elsewhere(house).lease
    end(house, "reset")

    house.runner.let_go(first)

    assert orphans(house) == [f"{second.run}:{second.fence}"]


def test_an_orphan_that_cannot_be_read_is_reported_and_given_up(house: House) -> None:
    redis, keys = house.stores.redis, house.stores.keys
    redis.hset(keys.orphans, "run-1:1", "torn")
    redis.zadd(keys.due, {ORPHAN + "run-1:1": 1})

    house.sweeper.sweep()

    assert orphans(house) == []
    assert any("orphan run-1:1" in str(raw) for raw in redis.lrange(keys.quarantine, 0, -1))


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
