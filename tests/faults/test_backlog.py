"""Ten thousand sessions wait without a worker: the sweep must not flood the queue (rule 15)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.keys import MAINTENANCE
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.programs import program, say
from tests.support.waiting import eventually

FEW_SECONDS = 2


def test_10000_waiting_sessions_without_a_worker_are_woken_once(make_fleet: MakeFleet) -> None:
    """Watches for 15 leases. The soak test watches for a minute and then serves them all."""
    fleet = unserved(make_fleet)
    accept_all(fleet, 10_000)

    assert most_waiting(fleet, seconds=15) < 10_100
    assert rewakes(fleet) < 100


def test_after_a_backlog_a_new_message_is_answered_at_once(make_fleet: MakeFleet) -> None:
    fleet = unserved(make_fleet)
    sent = accept_all(fleet, 1_000)
    assert most_waiting(fleet, seconds=5) < 1_010

    serve(fleet, sent)

    assert rewakes(fleet) < 10


def unserved(make_fleet: MakeFleet) -> Fleet:
    """A fleet that sweeps, but has no worker for the main lane."""
    fleet = make_fleet({"engine": {"leaseSeconds": 1.0}})
    fleet.worker("service")
    return fleet


def accept_all(fleet: Fleet, sessions: int) -> list[Queued]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda number: accept(fleet, number), range(sessions)))


def accept(fleet: Fleet, number: int) -> Queued:
    """Retry as a client does: Redis can be slow on a busy machine, and a repeat with the same id is safe."""
    while True:
        try:
            return fleet.send(program(say("done")), f"s{number}", message_id=f"m{number}")
        except StoreUnavailable:
            continue


def most_waiting(fleet: Fleet, *, seconds: float) -> int:
    """Watch the queue for this long and return its greatest length."""
    begun, most = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        most = max(most, int(fleet.stores.redis.llen(fleet.queue_key)))
        time.sleep(0.05)
    return most


def rewakes(fleet: Fleet) -> int:
    """Wake-ups beyond the first of each session. Each one costs a worker time and finds nothing to do."""
    return fleet.logs().count("run.woken")


def serve(fleet: Fleet, sent: list[Queued], *, within: float = 120) -> None:
    """Start a worker, wait until all messages are answered, and check that a new one is answered soon."""
    redis, keys = fleet.stores.redis, fleet.stores.keys
    fleet.worker(concurrency=16)
    # The walk over all sessions is due again and again.
    eventually(lambda: redis.zrange(keys.due, 0, 1) in ([], [f"{MAINTENANCE}sessions"]), within=within)
    check(fleet.stores, sent, one_each=True)
    assert redis.llen(fleet.queue_key) == 0
    asked = time.monotonic()
    outcome = fleet.outcome(fleet.send(program(say("new")), "new"))
    assert time.monotonic() - asked < FEW_SECONDS
    assert outcome.text == "new"
