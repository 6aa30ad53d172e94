"""Faulty chords: headers delivered twice, bodies fired twice or too early, counters lost (I4, rules 1, 3, 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.tasks.waker import ANNOUNCE
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import NO_SWEEP, faulty, start_workers
from tests.support.fleet import Fleet, WorkerProcess, session_key
from tests.support.ocw import Gate
from tests.support.programs import program, say, spawn
from tests.support.tree import announces, batch_of, check_tree, children_of
from tests.support.waiting import eventually

ROOT = session_key("main")
CHORD_MS = 2_000
"""How long the sweep waits for the chord before it announces a settled batch itself."""


def children(fleet: Fleet) -> list[Run]:
    return children_of(fleet.stores, ROOT)


def states(fleet: Fleet) -> list[RunState]:
    return [run.state for run in children(fleet)]


def parent_announces(fleet: Fleet) -> list[str]:
    return announces(fleet.transcript())


def fire_body(fleet: Fleet, batch: BatchId, times: int) -> None:
    for _ in range(times):
        fleet._app.send_task(ANNOUNCE, args=[batch], queue=Lane.SERVICE, ignore_result=True)


def send_header_again(fleet: Fleet, run: Run, times: int) -> None:
    assert run.batch is not None
    for _ in range(times):
        assert fleet.waker.header(run.session_key, run.id, run.batch, run.batch_index)


def bodies(fleet: Fleet) -> int:
    """How many chord bodies the workers have started."""
    return sum(stats["total"].get(ANNOUNCE, 0) for stats in ask_workers(fleet, "stats"))


def waiting_bodies(fleet: Fleet) -> int:
    return fleet.stores.redis.llen(fleet.stores.keys.broker_queue(Lane.SERVICE))


def is_quiet(fleet: Fleet) -> bool:
    """No worker is running a task."""
    return not any(ask_workers(fleet, "active"))


def ask_workers(fleet: Fleet, what: str) -> list[Any]:
    """The answers of all workers; slow ones on a busy machine are waited for."""
    workers = len(fleet.stores.workers.all())
    replies = fleet._app.control.broadcast(what, reply=True, timeout=20, limit=workers)
    assert replies is not None
    assert len(replies) == workers, "a worker did not answer"
    return [answer for each in replies for answer in each.values()]


def chord_keys(fleet: Fleet) -> list[str]:
    """The keys Celery counts with, without its short-lived marker that a chord is over."""
    return [str(key) for run in children(fleet) for key in fleet.stores.redis.keys(f"*{run.batch}.[jtsd]")]


def count(workers: list[WorkerProcess], word: str) -> Callable[[], int]:
    """A counter of log lines with this word, from now on."""
    before = sum(worker.log_text().count(word) for worker in workers)
    return lambda: sum(worker.log_text().count(word) for worker in workers) - before


def test_a_child_delivered_twice_with_different_answers_keeps_one(make_fleet: MakeFleet) -> None:
    """I4, rule 6: the first owner is paused past its lease, wakes up after the announce and is refused."""
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0}})
    start_workers(fleet, "main", "service")
    first = fleet.worker("subagent", **faulty(sign="the first", ignores_ticks=True))
    children_say = [program(say(name, delay_ms=1_000)) for name in "ab"]
    fleet.send(program(spawn(*children_say), say("spawned"), say("heard")))
    eventually(lambda: states(fleet) == [RunState.RUNNING] * 2, within=20)
    first.pause()
    fleet.worker("subagent", **faulty(sign="the second"))
    eventually(lambda: parent_announces(fleet), within=20)

    first.resume()
    eventually(lambda: first.finished() >= 2, within=20)
    runs = check_tree(fleet.stores, ROOT)

    assert first.fenced() == 2
    assert [run.text for run in runs] == ["a by the second", "b by the second"]
    (announce,) = parent_announces(fleet)
    assert "by the first" not in announce
    assert [len(announces(fleet.transcript(run.session_key))) for run in runs] == [0, 0]


def test_a_chord_body_fired_early_and_many_times_at_once_announces_once(make_fleet: MakeFleet) -> None:
    """I4, rule 1: the run records decide whether all have settled, the batch record whether it was announced."""
    fleet = make_fleet(NO_SWEEP)
    service = start_workers(fleet, "service", "service", "main", "subagent")[:2]
    gate = Gate(fleet, "children")
    fleet.send(program(spawn(*[program(gate.step, say("done"))] * 2), say("spawned"), say("heard")))
    eventually(lambda: states(fleet) == [RunState.RUNNING] * 2, within=20)
    batch = batch_of(fleet.stores, children(fleet)[0]).id
    fire_body(fleet, batch, 3)
    eventually(lambda: bodies(fleet) >= 3, within=20)
    assert batch_of(fleet.stores, children(fleet)[0]).state is BatchState.RUNNING

    for worker in service:
        worker.pause()
    fire_body(fleet, batch, 20)
    before = waiting_bodies(fleet)
    gate.open()
    eventually(lambda: batch_of(fleet.stores, children(fleet)[0]).state is BatchState.SETTLED, within=20)
    # The announce forgets the chord, so the chord's own body has to be queued before it.
    eventually(lambda: waiting_bodies(fleet) == before + 1, within=20)
    for worker in service:
        worker.resume()
    check_tree(fleet.stores, ROOT)
    fire_body(fleet, batch, 3)
    eventually(lambda: bodies(fleet) >= 3 + 20 + 1 + 3, within=20)
    check_tree(fleet.stores, ROOT)

    assert len(parent_announces(fleet)) == 1
    assert fleet.runs()[0].text == "heard"


def test_the_sweep_announces_a_batch_whose_chord_is_gone_from_redis(fleet: Fleet) -> None:
    """I4, rule 4: the batch record keeps its own count; the chord is only the fast path."""
    workers = start_workers(fleet, "main", "subagent", "service", loglevel="DEBUG")
    gate = Gate(fleet, "children")
    middle = program(spawn(program(gate.step, say("deep"))), say("waiting"), say("middle done"))
    fleet.send(program(spawn(program(gate.step, say("done")), middle), say("spawned"), say("heard")))
    eventually(lambda: sorted(states(fleet)) == ["parked", "running", "running"], within=20)

    assert len(chord_keys(fleet)) >= 2, "there was no chord to delete"
    fleet.stores.redis.delete(*chord_keys(fleet))
    gate.open()
    runs = check_tree(fleet.stores, ROOT)

    assert len(parent_announces(fleet)) == 1
    for batch in (batch_of(fleet.stores, run) for run in runs):
        assert (batch.announced_at or 0) - (batch.settled_at or 0) >= CHORD_MS
    skipped = count(workers, "run.skipped")
    for run in runs:
        send_header_again(fleet, run, 1)
    eventually(lambda: skipped() >= len(runs) and is_quiet(fleet), within=20)
    assert chord_keys(fleet) == [], "a late header started the chord again"


def test_duplicate_headers_during_a_run_do_not_break_the_chord(make_fleet: MakeFleet) -> None:
    """I4, rule 1: a header returns only when its child has settled; this test runs without a sweep."""
    fleet = make_fleet(NO_SWEEP)
    workers = start_workers(fleet, "main", "subagent", "subagent", "service", loglevel="DEBUG")
    gate = Gate(fleet, "children")
    middle = program(spawn(program(gate.step, say("deep"))), say("waiting"), say("middle done"))
    quick, slow = program(say("quick")), program(gate.step, say("slow"))
    fleet.send(program(spawn(quick, slow, middle), say("spawned"), say("heard")))
    eventually(lambda: sorted(states(fleet)) == ["ok", "parked", "running", "running"], within=20)

    skipped = count(workers, "run.skipped")
    for run in children(fleet):
        send_header_again(fleet, run, 5)
    eventually(lambda: skipped() >= 20, within=20)
    assert len(parent_announces(fleet)) == 0
    gate.open()
    eventually(lambda: parent_announces(fleet), within=10)
    for run in children(fleet):
        send_header_again(fleet, run, 2)
    eventually(lambda: skipped() >= 28, within=20)
    runs = check_tree(fleet.stores, ROOT)

    assert len(parent_announces(fleet)) == 1
    for batch in (batch_of(fleet.stores, run) for run in runs):
        assert (batch.announced_at or 0) - (batch.settled_at or 0) < CHORD_MS


def test_the_chord_also_counts_stopped_children(make_fleet: MakeFleet) -> None:
    """Rule 4: settling a child from outside publishes its header again; this test runs without a sweep."""
    fleet = make_fleet({**NO_SWEEP, "lanes": {"subagent": {"maxConcurrent": 1}}})
    start_workers(fleet, "main", "subagent", "service")
    # Given a parked child whose own child has the only slot, and two children of another tree that wait for it
    middle = program(spawn(program(say("never", delay_ms=600_000))), say("waiting"), say("never"))
    fleet.send(program(spawn(middle), say("spawned"), say("heard")))
    eventually(lambda: sorted(states(fleet)) == ["parked", "running"], within=20)
    fleet.send(program(spawn(*[program(say("done"))] * 2), say("spawned"), say("heard")), "other")
    other = session_key("other")
    line = fleet.stores.keys.line(Lane.SUBAGENT)
    eventually(lambda: fleet.stores.redis.zcard(line) == 2, within=20)
    first, _ = children_of(fleet.stores, other)

    # When the parked child and one of the waiting ones are stopped
    fleet.control.stop_run(first.id)
    fleet.control.stop_run(children(fleet)[0].id)

    # Then the chords announce both batches
    runs = check_tree(fleet.stores, ROOT, within=20) + check_tree(fleet.stores, other, within=20)
    assert [run.state for run in runs] == [RunState.KILLED, RunState.KILLED, RunState.KILLED, RunState.OK]
    assert [len(announces(fleet.transcript(name))) for name in ("main", "other")] == [1, 1]
    for batch in (batch_of(fleet.stores, run) for run in runs):
        assert (batch.announced_at or 0) - (batch.settled_at or 0) < CHORD_MS
