"""The reset policy picks the right rule, and finds its boundary through every change of clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.config.session import ResetSettings, SessionSettings
from openclaw_workers.domain.session_key import ChatType
from openclaw_workers.engine.turn.reset_policy import boundaries
from openclaw_workers.store.turn_records import ResetTimes

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
APIA = ZoneInfo("Pacific/Apia")
ZONES = [BERLIN, NEW_YORK, APIA, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Shanghai"), UTC]

DAILY = ResetSettings()


def boundary(now: str, tz: ZoneInfo, at_hour: int = 4) -> str:
    """The boundary in UTC for a moment in UTC, both as text."""
    found = boundaries(ResetSettings(at_hour=at_hour), datetime.fromisoformat(now).replace(tzinfo=UTC), tz)
    return datetime.fromtimestamp(found.daily_boundary_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def test_channel_goes_before_type_and_type_before_the_general_rule() -> None:
    session = SessionSettings.model_validate(
        {
            "reset": {"atHour": 1},
            "resetByType": {"dm": {"atHour": 2}},
            "resetByChannel": {"discord": {"atHour": 3}},
        }
    )

    assert session.reset_for(ChatType.DM, "discord").at_hour == 3
    assert session.reset_for(ChatType.DM, "cli").at_hour == 2
    assert session.reset_for(ChatType.GROUP, "cli").at_hour == 1
    assert SessionSettings().reset_for(ChatType.DM, "cli") == ResetSettings(mode="daily", at_hour=4)


@pytest.mark.parametrize(
    ("policy", "has_boundary", "idle_ms"),
    [
        (ResetSettings(), True, 0),
        (ResetSettings(idle_minutes=120), True, 7_200_000),
        (ResetSettings(mode="idle", idle_minutes=1), False, 60_000),
        (ResetSettings(mode="none", idle_minutes=120), False, 0),
    ],
)
def test_each_mode_gives_the_limits_it_names(policy: ResetSettings, has_boundary: bool, idle_ms: int) -> None:
    found = boundaries(policy, datetime(2026, 1, 30, 12, tzinfo=UTC), BERLIN)

    assert (found.daily_boundary_ms > 0, found.idle_ms) == (has_boundary, idle_ms)


def test_before_the_hour_the_boundary_is_yesterdays_and_from_the_hour_on_todays() -> None:
    assert boundary("2026-01-30 02:59:59", BERLIN) == "2026-01-29 03:00"
    assert boundary("2026-01-30 03:00:00", BERLIN) == "2026-01-30 03:00"
    assert boundary("2026-01-30 08:59:59", NEW_YORK) == "2026-01-29 09:00"
    assert boundary("2026-01-30 09:00:00", NEW_YORK) == "2026-01-30 09:00"


def test_the_zone_of_now_does_not_matter() -> None:
    moment = datetime(2026, 1, 30, 3, tzinfo=UTC)

    assert boundaries(DAILY, moment, BERLIN) == boundaries(
        DAILY, moment.astimezone(timezone(timedelta(hours=9))), BERLIN
    )
    assert boundaries(DAILY, moment, BERLIN) == ResetTimes(daily_boundary_ms=int(moment.timestamp() * 1000))


def test_in_spring_the_boundary_moves_an_hour_earlier_in_utc() -> None:
    # Berlin jumps at 01:00 UTC on 29 March 2026, New York at 07:00 UTC on 8 March.
    assert boundary("2026-03-29 01:59", BERLIN) == "2026-03-28 03:00"
    assert boundary("2026-03-29 02:00", BERLIN) == "2026-03-29 02:00"
    assert boundary("2026-03-08 07:59", NEW_YORK) == "2026-03-07 09:00"
    assert boundary("2026-03-08 08:00", NEW_YORK) == "2026-03-08 08:00"


def test_in_autumn_the_boundary_moves_an_hour_later_in_utc() -> None:
    # Berlin falls back at 01:00 UTC on 25 October 2026, New York at 06:00 UTC on 1 November.
    assert boundary("2026-10-25 02:59", BERLIN) == "2026-10-24 02:00"
    assert boundary("2026-10-25 03:00", BERLIN) == "2026-10-25 03:00"
    assert boundary("2026-11-01 08:59", NEW_YORK) == "2026-10-31 08:00"
    assert boundary("2026-11-01 09:00", NEW_YORK) == "2026-11-01 09:00"


def test_an_hour_that_the_clocks_skip_falls_on_the_jump() -> None:
    assert boundary("2026-03-29 00:59", BERLIN, at_hour=2) == "2026-03-28 01:00"
    assert boundary("2026-03-29 01:00", BERLIN, at_hour=2) == "2026-03-29 01:00"
    assert boundary("2026-03-08 06:59", NEW_YORK, at_hour=2) == "2026-03-07 07:00"
    assert boundary("2026-03-08 07:00", NEW_YORK, at_hour=2) == "2026-03-08 07:00"


def test_an_hour_that_the_clocks_repeat_counts_once() -> None:
    # 02:00 in Berlin is both 00:00 and 01:00 UTC that night; 01:00 in New York both 05:00 and 06:00 UTC.
    assert boundary("2026-10-24 23:59", BERLIN, at_hour=2) == "2026-10-24 00:00"
    for now in (
        "2026-10-25 00:00",
        "2026-10-25 00:59",
        "2026-10-25 01:00",
        "2026-10-25 01:30",
        "2026-10-25 12:00",
    ):
        assert boundary(now, BERLIN, at_hour=2) == "2026-10-25 00:00"
    assert boundary("2026-11-01 04:59", NEW_YORK, at_hour=1) == "2026-10-31 05:00"
    for now in ("2026-11-01 05:00", "2026-11-01 05:30", "2026-11-01 06:00", "2026-11-01 06:30"):
        assert boundary(now, NEW_YORK, at_hour=1) == "2026-11-01 05:00"


def test_a_zone_that_skips_a_whole_day_has_no_boundary_in_the_future() -> None:
    # Samoa went from 29 to 31 December 2011 at 10:00 UTC on the 30th.
    assert boundary("2011-12-30 12:00", APIA) == "2011-12-29 14:00"
    assert boundary("2011-12-30 14:00", APIA) == "2011-12-30 14:00"


@settings(max_examples=150, deadline=None)
@given(
    now=st.datetimes(datetime(2011, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    later=st.timedeltas(timedelta(0), timedelta(days=3)),
    tz=st.sampled_from(ZONES),
    at_hour=st.integers(0, 23),
)
def test_the_boundary_is_past_recent_and_never_goes_back(
    now: datetime, later: timedelta, tz: ZoneInfo, at_hour: int
) -> None:
    policy = ResetSettings(at_hour=at_hour)
    found = boundaries(policy, now, tz).daily_boundary_ms
    now_ms = now.timestamp() * 1000

    assert found <= now_ms < found + 49 * 3_600_000
    assert boundaries(policy, now + later, tz).daily_boundary_ms >= found
