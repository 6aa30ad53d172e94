"""Schedules: when a job is due. Pure; all times are epoch milliseconds, zones are names of the tz database.

Fixed times follow the wall clock and happen once on a day when clocks change. Intervals run through such a change.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field

from openclaw_workers.errors import BadInput

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w))(?:\s*\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w))*")
_LONGEST_MS = 3650 * 86_400_000


class _Schedule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class At(_Schedule):
    """Once."""

    kind: Literal["at"] = "at"
    at: int

    def after(self, moment: int) -> int | None:
        """The first time after a moment."""
        return self.at if self.at > moment else None

    def describe(self) -> str:
        return f"at {datetime.fromtimestamp(self.at / 1000, UTC).isoformat(timespec='seconds')}"


class Every(_Schedule):
    """At equal distances from a fixed moment."""

    kind: Literal["every"] = "every"
    every: int = Field(ge=1_000)
    anchor: int

    def after(self, moment: int) -> int | None:
        if moment < self.anchor:
            return self.anchor
        return self.anchor + ((moment - self.anchor) // self.every + 1) * self.every

    def describe(self) -> str:
        return f"every {format_ms(self.every)}"


class Cron(_Schedule):
    """By a cron expression of five fields, or of six with the seconds first."""

    kind: Literal["cron"] = "cron"
    expr: str
    tz: str = "UTC"

    def after(self, moment: int) -> int | None:
        base = datetime.fromtimestamp(moment // 1000, zone(self.tz))
        try:
            found = next(CronSim(ALIASES.get(self.expr.lower(), self.expr), base))
        except StopIteration:
            return None
        return int(found.timestamp()) * 1000

    def describe(self) -> str:
        return f"cron {self.expr} ({self.tz})"


Schedule = Annotated[At | Every | Cron, Field(discriminator="kind")]


def next_times(schedule: Schedule, now: int, count: int = 5) -> list[int]:
    """The next times after now."""
    found: list[int] = []
    moment: int | None = now
    while len(found) < count and moment is not None:
        moment = schedule.after(moment)
        if moment is not None:
            found.append(moment)
    return found


def parse_at(text: str, now: int, tz: str = "UTC") -> At:
    """A moment: an ISO time (without an offset it is in `tz`), or a duration from now such as `10s` or `in 20m`.

    Raises:
        BadInput: it is neither.
    """
    words = text.strip()
    relative = re.sub(r"^(?:in\s+|\+)", "", words, flags=re.IGNORECASE)
    if _DURATION.fullmatch(relative.lower()):
        return At(at=now + parse_ms(relative))
    try:
        moment = datetime.fromisoformat(words)
    except ValueError as error:
        hint = "write an ISO time such as 2026-12-24T18:00, or a duration such as 20m"
        raise BadInput(f"{text!r} is not a time", hint=hint) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone(tz))
    return At(at=int(moment.timestamp() * 1000))


def parse_every(text: str, now: int, anchor: int | None = None) -> Every:
    """An interval of at least a second; it counts from `anchor`, or from now.

    Raises:
        BadInput: it is not a duration, or too short.
    """
    length = parse_ms(text)
    if length < 1_000:
        raise BadInput(f"{text!r} is too short", hint="an interval has at least one second")
    return Every(every=length, anchor=now + length if anchor is None else anchor)


def parse_cron(expr: str, tz: str = "UTC") -> Cron:
    """A cron expression in a zone.

    Raises:
        BadInput: the expression or the zone is not understood.
    """
    words = " ".join(expr.split())
    try:
        CronSim(ALIASES.get(words.lower(), words.upper()), datetime.now(zone(tz)))
    except CronSimError as error:
        hint = "five fields (minute hour day month weekday), six with the seconds first, or @hourly, @daily, @weekly …"
        raise BadInput(f"{expr!r} is not a cron expression: {error}", hint=hint) from error
    return Cron(expr=words if words.startswith("@") else words.upper(), tz=tz)


def parse_ms(text: str) -> int:
    """A duration such as `90s`, `1h30m` or `2d` in milliseconds.

    Raises:
        BadInput: it is not one, or longer than ten years.
    """
    words = text.strip().lower()
    if not _DURATION.fullmatch(words):
        raise BadInput(f"{text!r} is not a duration", hint="write a number with its unit, such as 90s, 20m or 2h")
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", words)
    length = int(sum(float(number) * _UNITS[unit] for number, unit in parts))
    if length > _LONGEST_MS:
        raise BadInput(f"{text!r} is longer than ten years")
    return length


def format_ms(length: int) -> str:
    for unit in ("d", "h", "m", "s"):
        if length and length % _UNITS[unit] == 0:
            return f"{length // _UNITS[unit]}{unit}"
    return f"{length}ms"


def zone(name: str) -> tzinfo:
    """A zone by its name; `local` is this machine's.

    Raises:
        BadInput: there is no such zone.
    """
    if name in ("", "UTC"):
        return UTC
    if name == "local":
        local = datetime.now().astimezone().tzinfo
        assert local is not None
        return local
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise BadInput(f"{name!r} is not a time zone", hint="write a name such as Europe/Berlin") from error
