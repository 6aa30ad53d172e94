"""Where the files of an agent are: which worker may take its runs, where wake-ups go, and what waits."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import RunId, WorkerId
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import ChatMessage, Delivery, OutgoingKind
from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.leases import Ticked
from openclaw_workers.store.places import Places
from openclaw_workers.store.turn_records import NotTaken, Taken
from tests.component.store.harness import LEASE_MS, SESSION, StoreHarness

HERE = "a" * 32
THERE = "b" * 32
LONG_AGO_MS = 60_000
NOTICE = ChatMessage("place", OutgoingKind.NOTICE, "waits for @PLACE@")


@pytest.fixture
def places(store: StoreHarness) -> Places:
    return Places(store.redis, store.keys)


def tick(store: StoreHarness, host: str, place: str, *, takes_turns: bool = True) -> Ticked:
    """One tick of a worker that sees `place` for the agent main."""
    facts = {"host": host, "lane": "main"}
    workspaces = {"main": (place, f"/{host}/workspace")}
    return store.leases.tick(WorkerId(f"{host}/1/a"), facts, [], (), workspaces, takes_turns=takes_turns)


def lose(store: StoreHarness, place: str = HERE) -> None:
    """The last worker that saw the place has been silent for a while."""
    store.redis.zadd(store.keys.places_seen, {place: store.now() - LONG_AGO_MS})


def take(store: StoreHarness, place: str | None, **how: Any) -> Taken | NotTaken:
    return store.try_take(place=place, **how)


def queue(store: StoreHarness, place: str = "") -> list[str]:
    name = f"main@{place}" if place else "main"
    return [str(wake) for wake in store.redis.lrange(store.keys.broker_queue(name), 0, -1)]


def recover(store: StoreHarness, **how: Any) -> str:
    """What the sweep finds when it looks at the session."""
    store.redis.hset(store.keys.sweep, "last", store.now())  # otherwise nobody is judged
    return judge(store, **how)


def judge(store: StoreHarness, **how: Any) -> str:
    sweeper = WorkerId("sweeper/1/a")
    options = {"oldest_wake_ms": 0, "cap": store.cap, "max_attempts": 3, "is_placed": True, **how}
    return store.leases.recover(SESSION, Lane.MAIN, sweeper, **options)[1].verb


class TestBinding:
    def test_an_agent_is_bound_on_first_use(self, store: StoreHarness, places: Places) -> None:
        store.say("hi")
        assert take(store, "") == NotTaken("unplaced")
        assert places.of("main") is None

        assert isinstance(take(store, HERE), Taken)

        bound = places.of("main")
        assert bound is not None
        assert (bound.place, bound.is_seen) == (HERE, True)

    def test_of_two_first_workers_one_wins(self, store: StoreHarness) -> None:
        store.say("hi")
        taken = take(store, HERE)
        assert isinstance(taken, Taken)
        store.commit(taken)
        store.say("again")

        assert take(store, THERE) == NotTaken("elsewhere", (), HERE)

    def test_a_directory_that_has_an_id_is_bound_by_the_first_tick(self, store: StoreHarness, places: Places) -> None:
        tick(store, "one", HERE)
        tick(store, "two", THERE)

        bound = places.of("main")
        assert bound is not None
        assert (bound.place, bound.where, bound.is_seen) == (HERE, "one:/one/workspace", True)

    def test_a_worker_that_does_not_see_the_place_changes_nothing(self, store: StoreHarness) -> None:
        store.say("hi")
        tick(store, "one", HERE)
        before = store.redis.hgetall(store.keys.ctl(SESSION))

        for seen in ("", THERE):
            assert take(store, seen) == NotTaken("elsewhere", (), HERE)
        assert store.redis.hgetall(store.keys.ctl(SESSION)) == before
        assert isinstance(take(store, HERE), Taken)

    def test_an_agent_that_runs_anywhere_is_not_bound(self, store: StoreHarness, places: Places) -> None:
        store.say("hi")
        assert isinstance(take(store, None), Taken)
        assert places.all() == []


class TestRouting:
    def test_while_every_worker_sees_the_place_there_is_one_queue(self, store: StoreHarness) -> None:
        assert tick(store, "one", HERE).routes == {}
        assert tick(store, "two", HERE).routes == {}
        store.say("hi", wake="wake")
        assert queue(store) == ["wake"]

    def test_where_one_does_not_those_that_do_have_their_own(self, store: StoreHarness, places: Places) -> None:
        tick(store, "one", HERE)
        assert tick(store, "two", "").routes == {"main": HERE}
        assert tick(store, "one", HERE).routes == {"main": HERE}

        store.say("hi", wake="wake")
        taken = take(store, HERE)
        assert isinstance(taken, Taken)
        store.say("more")
        store.commit(taken, wake="next")

        assert (queue(store), queue(store, HERE)) == ([], ["next", "wake"])
        assert places.route("main") == HERE

    def test_when_that_one_is_gone_the_lane_has_one_queue_again(self, store: StoreHarness, places: Places) -> None:
        tick(store, "one", HERE)
        tick(store, "two", "")
        store.redis.zadd(store.keys.places_apart, {"main": store.now() - LONG_AGO_MS})

        assert tick(store, "one", HERE).routes == {}
        assert places.route("main") == ""


class TestWaiting:
    def test_an_accepted_message_says_where_its_files_are(self, store: StoreHarness, places: Places) -> None:
        tick(store, "one", HERE)
        tick(store, "two", "")
        lose(store)

        store.say("hi", wake="wake", route=Route(channel="telegram", to="7"), to_chat=to_chat())

        assert store.ctl("waits_for") == "one:/one/workspace"
        assert [event for event in store.events() if event == "run.waiting"] == ["run.waiting"]
        assert [each.text for each in store.outgoing()] == ["waits for one:/one/workspace"]
        found = places.of("main")
        assert found is not None
        assert (found.is_seen, found.waiting) == (False, 1)

    def test_no_notice_is_sent_after_redis_was_away(self, store: StoreHarness) -> None:
        tick(store, "one", HERE)
        tick(store, "two", "")
        lose(store)
        store.redis.zadd(store.keys.places_apart, {"main": store.now() - 10_000})

        store.say("hi", wake="wake")

        assert store.ctl("waits_for") == ""

    def test_the_sweep_lets_it_wait_without_counting_anything(self, store: StoreHarness) -> None:
        waiting_run(store)
        before = {name: store.ctl(name) for name in ("attempt", "losses", "wakes", "stalls")}

        for _ in range(3):
            assert recover(store, delivery=to_chat()) == "wait"

        assert {name: store.ctl(name) for name in before} == before
        assert store.events().count("run.waiting") == 1
        assert store.ctl("waits_for") == "one:/one/workspace"

    def test_a_run_whose_worker_died_waits_too(self, store: StoreHarness) -> None:
        store.say("hi")
        tick(store, "one", HERE)
        assert isinstance(take(store, HERE), Taken)
        lose(store)
        store.expire()

        assert recover(store) == "wait"
        assert (store.ctl("state"), store.ctl("attempt"), store.ctl("losses")) == ("queued", "2", "1")
        assert recover(store) == "wait"
        assert (store.ctl("attempt"), store.ctl("losses")) == ("2", "1")

    def test_it_holds_no_slot_and_stands_in_no_line(self, store: StoreHarness) -> None:
        store.cap = 1
        waiting_run(store)
        store.redis.zadd(store.keys.slots(Lane.MAIN), {SESSION: store.now() + 4_000})

        assert recover(store) == "wait"

        assert store.redis.zcard(store.keys.slots(Lane.MAIN)) == 0
        assert store.redis.zcard(store.keys.line(Lane.MAIN)) == 0

    def test_it_goes_on_when_a_worker_sees_the_place_again(self, store: StoreHarness) -> None:
        waiting_run(store)
        assert recover(store) == "wait"
        assert due_in(store) > 30_000

        tick(store, "two", "")
        assert due_in(store) > 30_000
        tick(store, "one", HERE)

        assert due_in(store) <= 0
        assert recover(store) == "wake"
        taken = take(store, HERE)
        assert isinstance(taken, Taken)
        assert store.ctl("waits_for") == ""

    def test_a_worker_that_takes_no_turns_does_not_wake_it(self, store: StoreHarness) -> None:
        waiting_run(store)
        assert recover(store) == "wait"
        tick(store, "one", HERE, takes_turns=False)
        assert recover(store) == "wait"

    def test_the_time_it_waited_is_added_to_its_deadline(self, store: StoreHarness) -> None:
        store.say("hi")
        tick(store, "one", HERE)
        first = take(store, HERE)
        assert isinstance(first, Taken)
        lose(store)
        store.expire()
        assert recover(store) == "wait"
        tick(store, "one", HERE)
        assert recover(store) == "wake"

        again = take(store, HERE)

        assert isinstance(again, Taken)
        assert again.deadline_at - first.deadline_at >= LONG_AGO_MS
        assert store.run(RunId(store.ctl("run"))).deadline_at == again.deadline_at

    def test_after_a_freeze_nobody_is_judged(self, store: StoreHarness) -> None:
        waiting_run(store)
        store.redis.hset(store.keys.sweep, "last", store.now() - LEASE_MS)
        assert judge(store) == "wake"

    def test_a_run_that_was_stopped_is_ended_by_any_worker(self, store: StoreHarness) -> None:
        store.say("hi")
        tick(store, "one", HERE)
        assert isinstance(take(store, HERE), Taken)
        lose(store)
        store.expire()
        assert recover(store) == "wait"

        store.stop()

        assert recover(store) == "end"
        taken = take(store, "")
        assert isinstance(taken, Taken)
        assert taken.abort == "killed"

    def test_an_agent_that_runs_anywhere_waits_for_nothing(self, store: StoreHarness) -> None:
        waiting_run(store)
        assert recover(store, is_placed=False) == "wake"


def waiting_run(store: StoreHarness) -> None:
    """A run whose place no worker has seen for a while."""
    tick(store, "one", HERE)
    store.say("hi")
    lose(store)


def due_in(store: StoreHarness) -> int:
    """Milliseconds until the sweep looks at the session."""
    return (store.due_at() or 0) - store.now()


def to_chat() -> Delivery:
    return Delivery({"telegram": "allow"}, (NOTICE,))
