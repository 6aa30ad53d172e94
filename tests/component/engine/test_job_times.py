"""Jobs over days and changes of clocks, with Redis' clock moved: what the sweep fires, and what it passes over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import redis

from openclaw_workers.domain.job import Job
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.test_jobs import add, states
from tests.support.moved_time import MovedTime

ZONES = ("Europe/Berlin", "America/New_York")


@pytest.fixture
def moved(redis_client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MovedTime:
    return MovedTime(redis_client, tmp_path / "clock", monkeypatch)


def sweep(engine: EngineHarness, moved: MovedTime) -> None:
    """Sweep after a time without sweeps: for one lease nobody is judged, and then what is due is handled."""
    for _ in range(6):
        engine.sweeper.sweep()
        engine.work()
        moved.advance(1)


def fired(engine: EngineHarness, job: Job) -> list[int]:
    """The scheduled times that runs have answered, in milliseconds."""
    found = [each for run in engine.stores.reader.runs(1_000) for each in run.covers]
    return sorted(int(each.removeprefix(f"cron-{job.id}-")) for each in found if each.startswith(f"cron-{job.id}-"))


@pytest.mark.parametrize(("misfire", "count"), [("skip", 1), ("once", 1), ("all", 11)])
def test_misfire_policies_hold_after_ten_minutes_without_a_worker(
    moved: MovedTime, make_engine: MakeEngine, misfire: str, count: int
) -> None:
    engine = make_engine()
    job = add(engine, every="1m", misfire=misfire, overlap="queue", session_target="main")
    first = job.schedule.after(engine.stores.due.now_ms())
    assert first is not None
    moved.advance(60 * 10 + 75)  # the eleventh time is 15 s old: late, but not missed

    sweep(engine, moved)
    times = fired(engine, job)
    assert len(times) == count
    assert times[-1] == first + 10 * 60_000
    assert ("missed" in states(engine, job)) is (misfire != "all")


def changes(zone: ZoneInfo, after: datetime) -> dict[str, datetime]:
    """The next two changes of clocks: the hours (UTC) before which they lie."""
    found: dict[str, datetime] = {}
    hour = after.replace(minute=0, second=0, microsecond=0)
    while len(found) < 2:
        before, hour = hour, hour + timedelta(hours=1)
        step = _offset(zone, hour) - _offset(zone, before)
        if step:
            found.setdefault("forward" if step > timedelta(0) else "back", hour)
    return found


def _offset(zone: ZoneInfo, at: datetime) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


@pytest.mark.parametrize("direction", ["forward", "back"])
@pytest.mark.parametrize("name", ZONES)
def test_a_daily_time_fires_once_on_the_day_clocks_change_and_an_interval_runs_through(
    moved: MovedTime, make_engine: MakeEngine, name: str, direction: str
) -> None:
    engine, zone = make_engine(), ZoneInfo(name)
    change = changes(zone, datetime.fromtimestamp(moved.now(), UTC))[direction]
    local = change.astimezone(zone)
    # An hour that is skipped, or that comes twice.
    hour = local.hour - 1 if direction == "forward" else local.hour
    moved.advance(int((change - timedelta(days=1, hours=6)).timestamp() - moved.now()))
    terms: dict[str, Any] = {"overlap": "queue", "misfire": "all", "session_target": "main"}
    daily = add(engine, cron=f"30 {hour} * * *", tz=name, **terms)
    interval = add(engine, every="6h", **terms)
    for _ in range(10):
        sweep(engine, moved)
        moved.advance(6 * 3600 - 6)

    days = [datetime.fromtimestamp(at / 1000, zone).date() for at in fired(engine, daily)]
    assert local.date() in days
    assert len(days) == len(set(days)) >= 2, "each day has the time once"
    distances = {b - a for a, b in zip(fired(engine, interval), fired(engine, interval)[1:], strict=False)}
    assert distances == {6 * 3_600_000}
