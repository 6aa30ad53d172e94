"""A cluster-wide lane cap holds with three workers, serves in order, and no waiting turn blocks a slot."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock
from openclaw_workers.store.turn_records import Granted, Lease, Outcome, ResetTimes, Taken, TurnRules
from openclaw_workers.store.turns import Turns
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.faulty_workers import faulty, place
from tests.support.fleet import Fleet
from tests.support.ocw import Gate
from tests.support.programs import call, mark, program, say
from tests.support.waiting import eventually


def capped(make_fleet: MakeFleet, cap: int) -> Fleet:
    return make_fleet({"lanes": {"main": {"maxConcurrent": cap}}})


class Watch(threading.Thread):
    """Polls the lane and remembers the highest counts."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(name="watch", daemon=True)
        self._fleet = fleet
        self._over = threading.Event()
        self.looks = 0
        self.most_running = 0
        self.most_slots = 0

    def run(self) -> None:
        redis, keys = self._fleet.stores.redis, self._fleet.stores.keys
        while not self._over.wait(0.002):
            with redis.pipeline(transaction=True) as pipe:
                pipe.zcard(keys.running)
                pipe.zcard(keys.slots(Lane.MAIN))
                running, slots = pipe.execute()
            self.most_running = max(self.most_running, running)
            self.most_slots = max(self.most_slots, slots)
            self.looks += 1

    def stop(self) -> None:
        self._over.set()
        self.join(10)


@contextmanager
def watching(fleet: Fleet) -> Iterator[Watch]:
    watch = Watch(fleet)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def most_at_once(runs: list[Run]) -> int:
    """How many runs were active at the same time, according to their records."""
    moments = [(run.started_at or 0, 1) for run in runs] + [(run.ended_at or 0, -1) for run in runs]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def in_order_of_start(fleet: Fleet) -> list[str]:
    runs = sorted(fleet.runs(), key=lambda run: (run.started_at or 0, run.id))
    return [run.session_key.removeprefix("agent:main:") for run in runs]


def others(fleet: Fleet, run: Run) -> list[Run]:
    return [each for each in fleet.runs() if each.id != run.id]


def hold(fleet: Fleet, session: str) -> tuple[Queued, Gate]:
    """A turn that keeps its slot until the gate opens."""
    gate = Gate(fleet, session)
    queued = fleet.send(program(gate.step, say("done")), session)
    eventually(lambda: len(fleet.transcript(session)) == 2, within=20)
    return queued, gate


def line(fleet: Fleet) -> int:
    return int(fleet.stores.redis.zcard(fleet.stores.keys.line(Lane.MAIN)))


def test_a_lane_cap_is_never_exceeded_by_three_workers(make_fleet: MakeFleet) -> None:
    fleet = capped(make_fleet, cap=2)
    fleet.ready(*(fleet.worker(wait=False) for _ in range(3)))
    with watching(fleet) as watch:
        sent = [fleet.send(program(call(mark("tool")), say("done", delay_ms=20)), f"s{n % 30}") for n in range(60)]
        fleet.outcomes(sent)

    assert watch.looks > 100
    assert (watch.most_running, watch.most_slots) == (2, 2)
    assert most_at_once(fleet.runs()) == 2
    assert fleet.count("tool") == 60
    check(fleet.stores, sent, one_each=True)


def test_sessions_that_wait_for_a_lane_are_served_in_order(make_fleet: MakeFleet) -> None:
    fleet = capped(make_fleet, cap=1)
    fleet.ready(*(fleet.worker(wait=False) for _ in range(3)))
    holder, gate = hold(fleet, "holder")
    sent = [holder]
    for number in range(15):
        sent.append(fleet.send(program(say("done", delay_ms=20)), f"s{number:02}"))
        eventually(lambda n=number: line(fleet) == n + 1, within=20)  # type: ignore[misc]
    gate.open()
    fleet.outcomes(sent)

    assert in_order_of_start(fleet) == ["holder", *(f"s{number:02}" for number in range(15))]
    check(fleet.stores, sent, one_each=True)


def test_a_session_that_waits_for_a_lane_occupies_no_thread(make_fleet: MakeFleet) -> None:
    """The one free thread puts ten sessions in line, one after the other."""
    fleet = capped(make_fleet, cap=1)
    fleet.worker(concurrency=1)
    holder, gate = hold(fleet, "holder")
    idle = fleet.worker(concurrency=1)
    waiting = [fleet.send(program(say("done")), f"s{number}") for number in range(10)]
    eventually(lambda: line(fleet) == 10, within=20)

    assert fleet.carries(idle) == 0
    assert fleet.stores.redis.llen(fleet.queue_key) == 0, "a waiting session is not published again"
    gate.open()
    fleet.outcomes([holder, *waiting])
    check(fleet.stores, [holder, *waiting], one_each=True)


def test_a_lane_drains_after_its_holder_was_killed(make_fleet: MakeFleet) -> None:
    """Rule 16: the slot ends with the lease. The killed turn keeps its place and runs before those behind it."""
    fleet = capped(make_fleet, cap=1)
    victim = fleet.worker()
    holder, _ = hold(fleet, "holder")
    fleet.worker()
    waiting = [fleet.send(program(say("done")), f"s{number}") for number in range(5)]
    eventually(lambda: line(fleet) == 5, within=20)

    with watching(fleet) as watch:
        victim.kill()
        outcome = fleet.outcome(holder)
        fleet.outcomes(waiting)

    assert (watch.most_running, watch.most_slots) == (1, 1)
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    assert all((run.started_at or 0) >= (outcome.run.ended_at or 0) for run in others(fleet, outcome.run))
    check(fleet.stores, [holder, *waiting], one_each=True)


def test_a_lane_drains_after_a_worker_dies_with_a_granted_slot(make_fleet: MakeFleet) -> None:
    """The worker puts five turns in line and dies on the first wake-up, before it uses the granted slot."""
    fleet = capped(make_fleet, cap=1)
    fleet.worker(concurrency=1)
    holder, gate = hold(fleet, "holder")
    victim = fleet.worker(concurrency=1, **faulty(die=f"{place(Turns.take)}:6"))
    waiting = [fleet.send(program(say("done")), f"s{number}") for number in range(5)]
    eventually(lambda: line(fleet) == 5, within=20)

    with watching(fleet) as watch:
        gate.open()
        assert victim.wait(within=20) == -signal.SIGKILL
        # The slot is reserved for half a lease; the sweep checks the line itself only once a minute.
        fleet.outcomes([holder, *waiting], within=20)

    assert (watch.most_running, watch.most_slots) == (1, 1)
    assert {fleet.receipt(queued).state for queued in waiting} == {MessageState.ANSWERED}
    check(fleet.stores, [holder, *waiting], one_each=True)


def test_a_lane_drains_after_the_wake_up_for_a_granted_slot_is_lost(make_fleet: MakeFleet) -> None:
    """The worker that freed the slot dies before it wakes the next session in line."""
    fleet = capped(make_fleet, cap=1)
    fleet.worker(concurrency=1)  # one thread, so that they queue in the order of arrival
    dying = DyingWorker(fleet)
    holder = fleet.send(program(say("done")), "holder", lose_wake_up=True)
    lease = dying.take(holder)
    waiting = [fleet.send(program(say("done")), f"s{number}") for number in range(5)]
    eventually(lambda: dying.renew(lease) and line(fleet) == 5, within=20)

    granted = dying.commit(lease)

    assert [session for _, session in granted] == [waiting[0].session_key]
    # The slot is reserved for half a lease; the sweep checks the line itself only once a minute.
    assert {outcome.text for outcome in fleet.outcomes(waiting, within=20)} == {"done"}
    assert most_at_once(fleet.runs()) == 1
    check(fleet.stores, [holder, *waiting], one_each=True)


def test_switching_a_cap_off_and_on_again_leaves_nobody_in_line(make_fleet: MakeFleet) -> None:
    """Without the cap, waiting sessions run at once. With it again, the next message waits for none of them."""
    fleet = capped(make_fleet, cap=1)
    before = fleet.worker()
    holder, gate = hold(fleet, "holder")
    waiting = [fleet.send(program(say("done")), f"s{number}") for number in range(5)]
    eventually(lambda: line(fleet) == 5, within=20)

    before.kill()
    set_cap(fleet, 0)
    without = fleet.worker()
    gate.open()
    # The sweep checks the line itself only once a minute.
    fleet.outcomes([holder, *waiting], within=20)
    assert line(fleet) == 0

    without.kill()
    set_cap(fleet, 1)
    fleet.worker()
    late = fleet.send(program(say("done")), "late")
    fleet.outcome(late, within=20)
    check(fleet.stores, [holder, *waiting, late], one_each=True)


def test_stale_places_in_line_hold_no_slot(make_fleet: MakeFleet) -> None:
    """An older version left them behind. Each would hold the slot for half a lease, the first for a minute."""
    fleet = capped(make_fleet, cap=1)
    fleet.worker()
    old = [fleet.send(program(say("done")), f"s{number}") for number in range(5)]
    fleet.outcomes(old)
    places = {f"{queued.run} {queued.session_key}": number for number, queued in enumerate(old)}
    fleet.stores.redis.zadd(fleet.stores.keys.line(Lane.MAIN), places)

    late = fleet.send(program(say("done")), "late")

    fleet.outcome(late, within=20)
    assert line(fleet) == 0
    check(fleet.stores, [*old, late], one_each=True)


def set_cap(fleet: Fleet, cap: int) -> None:
    """Publish another cap; 0 means no cap."""
    config = yaml.safe_load(fleet.config_path.read_text())
    config["lanes"] = {"main": {"maxConcurrent": cap}} if cap else {}
    fleet.config_path.write_text(yaml.safe_dump(config))
    fleet.apply_config()


class DyingWorker:
    """Runs a turn in this process, up to the point where a worker would publish the wake-ups."""

    def __init__(self, fleet: Fleet) -> None:
        stores, timing = fleet.stores, fleet.stores.timing
        self._id = WorkerId("host/1/dying")
        self._leases = stores.leases
        rules = TurnRules(timing.lease_ms, timing.rewake_ms, timing.grant_ms)
        self._turns = Turns(stores.redis, stores.keys, self._id, rules, stores.caps)

    def take(self, queued: Queued) -> Lease:
        assert queued.run is not None
        taken = self._turns.take(
            queued.session_key,
            queued.run,
            Lane.MAIN,
            nonce="dying",
            time_ms=60_000,
            freshness={"": ResetTimes()},
            may_suspect=True,
        )
        assert isinstance(taken, Taken)
        return taken.lease

    def renew(self, lease: Lease) -> bool:
        return self._leases.tick(self._id, {}, [lease]).verdicts == ["ok"]

    def commit(self, lease: Lease) -> Granted:
        answer = AssistantEntry(content=[TextBlock(text="done")], run_id=lease.run)
        outcome = Outcome(RunState.OK, "complete", MessageState.ANSWERED, text="done", entries=[answer])
        return self._turns.commit(lease, "main", outcome).granted
