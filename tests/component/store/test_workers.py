"""Reports of workers: kept apart from what everybody reads of them, and not for long."""

from __future__ import annotations

import redis as redis_py

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.workers import REPORT_KEPT_SECONDS, Workers


def test_a_report_is_kept_for_a_while_and_goes_with_its_worker(redis: redis_py.Redis, namespace: str) -> None:
    keys = Keys(namespace)
    workers, here, there = Workers(redis, keys, lease_ms=4000), WorkerId("h/1/a"), WorkerId("h/2/b")

    workers.send_report(here, {"plugins": "[1]", "mcp": "[]"})

    assert workers.reports([here, there]) == [{"plugins": "[1]", "mcp": "[]"}, {}]
    assert 0 < int(redis.ttl(keys.worker_report(here))) <= REPORT_KEPT_SECONDS
    workers.leave(here)
    assert workers.reports([here]) == [{}]
