"""Schedules: next times, clock changes, missed times."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.domain.misfire import ON_TIME_MS, Misfire, Plan, plan
from openclaw_workers.domain.schedule import (
    At,
    Every,
    next_times,
    parse_at,
    parse_cron,
    parse_every,
    parse_ms,
)
from openclaw_workers.errors import BadInput

NOW = 1_800_000_000_000
HOUR = 3_600_000


def at(text: str, zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def shown(moment: int, zone: str) -> str:
    return datetime.fromtimestamp(moment / 1000, ZoneInfo(zone)).isoformat()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10s", NOW + 10_000),
        ("in 20m", NOW + 1_200_000),
        ("+1h30m", NOW + 5_400_000),
        ("IN 2 d", NOW + 48 * HOUR),
        ("2026-12-24T18:00:00Z", 1_798_135_200_000),
        ("2026-12-24T18:00", 1_798_135_200_000),
        ("2026-12-24T18:00+01:00", 1_798_135_200_000 - HOUR),
    ],
)
def test_a_moment_is_an_iso_time_or_a_duration_from_now(text: str, expected: int) -> None:
    assert parse_at(text, NOW).at == expected


def test_a_time_without_an_offset_is_in_the_given_zone() -> None:
    assert parse_at("2026-07-01T09:00", NOW, "Europe/Berlin").at == at("2026-07-01T09:00", "Europe/Berlin")


@pytest.mark.parametrize("text", ["", "soon", "tomorrow", "10", "5 parsecs", "2026-13-01"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time"):
        parse_at(text, NOW)


@pytest.mark.parametrize("text", ["", "* * *", "61 * * * *", "@reboot", "0 0 31 2 *x"])
def test_what_is_no_cron_expression_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a cron expression"):
        parse_cron(text)


def test_an_unknown_zone_and_a_short_interval_are_refused() -> None:
    with pytest.raises(BadInput, match="is not a time zone"):
        parse_cron("@daily", "Mars/Base")
    with pytest.raises(BadInput, match="too short"):
        parse_every("500ms", NOW)
    with pytest.raises(BadInput, match="longer than ten years"):
        parse_ms("4000d")


CLOCK_CHANGES = [
    # zone, expression, from, the next wall times
    ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
    ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
    ("America/New_York", "30 2 * * *", "2026-03-07T12:00", ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]),
    ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]),
    ("Europe/Berlin", "@daily", "2026-10-24T12:00", ["2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"]),
]


@pytest.mark.parametrize(("zone", "expr", "start", "expected"), CLOCK_CHANGES)
def test_a_fixed_time_happens_once_on_the_day_clocks_change(
    zone: str, expr: str, start: str, expected: list[str]
) -> None:
    found = next_times(parse_cron(expr, zone), at(start, zone), len(expected))
    assert [shown(moment, zone) for moment in found] == expected


def test_an_interval_runs_through_a_clock_change() -> None:
    start = at("2026-10-25T00:00", "Europe/Berlin")
    found = next_times(Every(every=HOUR, anchor=start), start, 5)
    assert found == [start + n * HOUR for n in range(1, 6)]


def test_seconds_stand_first() -> None:
    found = next_times(parse_cron("*/20 * * * * *"), 1_800_000_000_000, 3)
    assert found == [1_800_000_020_000, 1_800_000_040_000, 1_800_000_060_000]


HOURLY = Every(every=HOUR, anchor=0)
MISSED = 10 * HOUR  # due at 10, looked at at 15:30
LATE = 15 * HOUR + HOUR // 2


@pytest.mark.parametrize(
    ("misfire", "window", "expected"),
    [
        ("skip", 24 * HOUR, Plan(None, 16 * HOUR, 1)),
        ("once", 24 * HOUR, Plan(15 * HOUR, 16 * HOUR, 5)),
        ("all", 24 * HOUR, Plan(10 * HOUR, 11 * HOUR)),
        ("all", 3 * HOUR, Plan(13 * HOUR, 14 * HOUR, 1)),
        ("once", HOUR // 4, Plan(None, 16 * HOUR, 1)),
    ],
)
def test_missed_times_are_made_up_for_as_the_job_says(misfire: Misfire, window: int, expected: Plan) -> None:
    assert plan(HOURLY, MISSED, LATE, misfire, window) == expected


def test_a_time_that_is_only_late_is_fired_whatever_the_policy() -> None:
    for misfire in ("skip", "once", "all"):
        assert plan(HOURLY, MISSED, MISSED + ON_TIME_MS, misfire, 0).fire == MISSED


def test_a_single_time_is_made_up_for_within_its_window_and_never_comes_again() -> None:
    assert plan(At(at=5), 5, 5 + HOUR, "once", 2 * HOUR) == Plan(5, None)
    assert plan(At(at=5), 5, 5 + 3 * HOUR, "once", 2 * HOUR) == Plan(None, None, 1)


@given(
    every=st.integers(1_000, 10 * HOUR),
    anchor=st.integers(0, NOW),
    late=st.integers(0, 3 * HOUR),
    misfire=st.sampled_from(["skip", "once", "all"]),
)
def test_what_follows_is_always_later_than_what_is_fired(every: int, anchor: int, late: int, misfire: Misfire) -> None:
    schedule = Every(every=every, anchor=anchor)
    due = schedule.after(NOW)
    assert due is not None
    found = plan(schedule, due, due + late, misfire, HOUR)
    assert found.following is not None
    if found.fire is not None:
        assert due <= found.fire <= due + late
        assert found.following > found.fire
        assert (found.fire - anchor) % every == 0
    else:
        assert found.following > due


@given(every=st.integers(60_000, HOUR), late=st.integers(0, 6 * HOUR))
def test_all_fires_each_missed_time_of_the_window_once(every: int, late: int) -> None:
    schedule = Every(every=every, anchor=0)
    due, now, fired = every, every + late, []
    moment: int | None = due
    while moment is not None and moment <= now:
        found = plan(schedule, moment, now, "all", 24 * HOUR)
        assert found.fire is not None
        fired.append(found.fire)
        moment = found.following
    assert fired == list(range(every, now + 1, every))
