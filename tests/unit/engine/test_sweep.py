"""The sweep: accepted work that nobody looks after is found, woken, settled, and never blocks the rest."""

from __future__ import annotations

import pytest

from openclaw_workers.models.ids import SessionKey, WorkerId
from openclaw_workers.models.ledger import call_id
from openclaw_workers.models.runs import Lane
from openclaw_workers.models.transcript import AssistantEntry, NoticeEntry, TextBlock, ToolCallBlock, ToolResultEntry
from openclaw_workers.store.keys import TURN
from openclaw_workers.store.ledger import Ledger
from openclaw_workers.store.turns import Taken
from tests.unit.engine.conftest import SESSION, House, MakeHouse

OTHER = SessionKey("agent:main:other")


def fall_due(house: House, *items: str) -> None:
    house.stores.redis.zadd(house.stores.keys.due, dict.fromkeys(items, 1))


def crash(house: House, session: SessionKey = SESSION) -> None:
    """A worker takes the session and dies; its lease runs out."""
    run = house.ctl("run", session)
    taken = house.turns.take(
        session,
        run,  # type: ignore[arg-type]
        Lane.MAIN,
        nonce="n" + house.ctl("fence", session),
        time_ms=60_000,
        freshness=house.preparer.freshness(session),
        may_suspect=True,
    )
    assert isinstance(taken, Taken)
    house.set_ctl("lease_until", 1, session)
    fall_due(house, TURN + session)


def test_a_lost_wake_is_repeated(house: House) -> None:
    queued = house.say("hi")
    house.waker.turns.clear()
    fall_due(house, TURN + SESSION)

    wait = house.sweeper.sweep()

    assert house.waker.turns == [(SESSION, queued.run)]
    assert 0 < wait <= 5


def test_nothing_is_added_while_the_queue_holds_older_wakes(house: House) -> None:
    house.say("hi")
    house.waker.turns.clear()
    house.waker.oldest = 1
    fall_due(house, TURN + SESSION)

    house.sweeper.sweep()

    assert house.waker.turns == []


def test_a_turn_whose_worker_died_too_often_is_settled_and_the_session_goes_on(house: House) -> None:
    poison = house.say("poison")
    for _ in range(3):
        crash(house)
        house.sweeper.sweep()
    after = house.say('{"steps": [{"text": "all well"}]}')
    house.work()

    assert house.receipt(poison).state == "failed"
    run = house.run_of(poison)
    assert (run.state, run.reason) == ("error", "lost")
    assert "died 3 times" in (run.error or "")
    assert any(isinstance(entry, NoticeEntry) for entry in house.log())
    assert house.run_of(after).text == "all well"
    calls = list(Ledger(house.stores.redis, house.stores.keys).calls())
    assert sorted(call.outcome for call in calls) == ["lost"] * 3 + ["ok"], "each may have been asking the model"
    assert run.usage.input == sum(call.usage.input for call in calls if call.outcome == "lost") > 0


def test_a_turn_that_moved_but_lost_too_many_workers_is_not_said_to_have_stood_still(make_house: MakeHouse) -> None:
    house = make_house({"engine": {"maxAttempts": 2}})
    sent = house.say("hi")
    for number in range(7):
        taken = house.take(nonce=f"n{number}")
        house.turns.step(taken.lease, taken.step + 1, [AssistantEntry(content=[TextBlock(text="a step")])])
        house.set_ctl("lease_until", 1)
        fall_due(house, TURN + SESSION)
        house.sweeper.sweep()

    error = house.run_of(sent).error or ""
    assert error == "the turn was given up: 7 workers died while they carried it"


def test_a_lost_call_has_the_id_its_owner_knows_it_by_although_a_sweeper_died_too(make_house: MakeHouse) -> None:
    """Rule 14: else the call of an owner that only slept would stand in the ledger twice."""
    house = make_house({"engine": {"maxAttempts": 1}})
    house.say("hello")
    slept = house.take()
    house.set_ctl("lease_until", 1)
    _, rescue = house.stores.fleet.rescue(SESSION, Lane.MAIN, WorkerId("dies"), oldest_wake_ms=0, cap=0, max_attempts=1)
    assert rescue.lease is not None
    house.set_ctl("lease_until", 1)
    fall_due(house, TURN + SESSION)
    house.sweeper.sweep()

    (call,) = Ledger(house.stores.redis, house.stores.keys).calls()
    assert (call.outcome, call.id) == ("lost", call_id(slept.lease.run, slept.lease.fence, 1))


def test_calls_of_a_turn_that_is_given_up_are_closed(make_house: MakeHouse) -> None:
    house = make_house({"engine": {"maxAttempts": 1}})
    house.say("poison")
    crash(house)
    house.set_ctl("lease_until", 10**15)
    call = ToolCallBlock(id="call-1", name="exec", arguments={"command": "x"})
    house.stores.redis.rpush(
        house.stores.keys.log(SESSION), AssistantEntry(content=[call]).model_dump_json(by_alias=True)
    )
    house.set_ctl("lease_until", 1)

    house.sweeper.sweep()

    roles = [entry.role for entry in house.log()]
    assert roles == ["user", "assistant", "toolResult", "notice"]
    closed = house.log()[2]
    assert isinstance(closed, ToolResultEntry)
    assert closed.is_error


@pytest.mark.parametrize("damaged", [TURN + "agent:main:damaged", TURN + "no such form"])
def test_a_session_that_cannot_be_swept_does_not_keep_others_from_it(house: House, damaged: str) -> None:
    house.stores.redis.set(house.stores.keys.ctl(damaged.removeprefix(TURN)), "not a hash")
    queued = house.say("hi", OTHER)
    house.waker.turns.clear()
    fall_due(house, damaged, TURN + OTHER)

    house.sweeper.sweep()

    assert house.waker.turns == [(OTHER, queued.run)]


def test_an_archive_that_nobody_knows_is_dropped_from_the_index(house: House) -> None:
    fall_due(house, "archive|abc")
    house.sweeper.sweep()
    assert house.stores.redis.zcard(house.stores.keys.due) == 0


def test_the_sweep_writes_what_a_reset_cut_off(house: House) -> None:
    house.say("remember me")
    house.work()
    session_id = house.stores.reader.row(SESSION)["sessionId"]
    house.control.reset(SESSION)

    house.sweeper.sweep()

    path = house.loaded.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    assert "remember me" in path.read_text()
    assert house.stores.redis.exists(house.stores.keys.archives) == 0


def test_a_directory_that_cannot_be_written_keeps_no_session_from_being_swept(house: House) -> None:
    house.say("remember me")
    house.work()
    house.control.reset(SESSION)
    queued = house.say("hi", OTHER)
    house.waker.turns.clear()
    fall_due(house, TURN + OTHER)
    (house.loaded.state_dir / "agents").write_text("a file where a folder belongs")

    house.sweeper.sweep()

    assert house.waker.turns == [(OTHER, queued.run)]
    assert house.stores.redis.hlen(house.stores.keys.archives) == 1, "all of it is still in Redis"


def test_what_nobody_knows_is_dropped_from_the_index(house: House) -> None:
    fall_due(house, "mystery|x")
    house.sweeper.sweep()
    assert house.stores.redis.zcard(house.stores.keys.due) == 0
