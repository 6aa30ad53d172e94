"""Which workers are listed, and which are alive."""

from __future__ import annotations

from openclaw_workers.store.workers import DEAD_AFTER_MS, LISTED_MS, worker_infos

NOW_MS = 1_800_000_000_000


def test_a_dead_worker_is_listed_for_some_minutes() -> None:
    ages = {"fresh": 100, "ahead": -100, "silent": DEAD_AFTER_MS, "gone": LISTED_MS}
    beats = [(name, float(NOW_MS - age)) for name, age in ages.items()]
    found = worker_infos(beats, (NOW_MS // 1000, 0), [{}, None, {}, {}])
    assert [(each.id, each.alive) for each in found] == [("fresh", True), ("ahead", True), ("silent", False)]
