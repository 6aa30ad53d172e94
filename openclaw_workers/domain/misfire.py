"""Missed times of a job: what is fired after a pause, and what is passed over. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from openclaw_workers.domain.schedule import Schedule

ON_TIME_MS = 60_000
"""A time is missed when it is older than this; until then it is only late."""
MOST_MISSED = 10_000
"""How many missed times are looked at; older ones are passed over."""

Misfire = Literal["skip", "once", "all"]
"""What happens to times that were missed: none, the newest, or each of them is made up for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a job that is due."""

    fire: int | None
    """The time to fire now; None: nothing to fire."""
    following: int | None
    """The time that is due next; None: there is none."""
    missed: int = 0
    """How many times were passed over."""


def plan(schedule: Schedule, due: int, now: int, misfire: Misfire, window: int) -> Plan:
    """What is fired of the times from `due` up to `now`, and when the job is due next.

    `window`: how old, in milliseconds, a missed time may be to be made up for.
    """
    if due > now:
        return Plan(None, due)
    oldest = now - (ON_TIME_MS if misfire == "skip" else max(window, ON_TIME_MS))
    moment, missed = due, 0
    if moment < oldest:  # jump, because years may have passed
        following = schedule.after(max(moment, oldest - 1))
        if following is None or following > now:
            return Plan(None, following, 1)
        moment, missed = following, 1
    if misfire == "once":
        for _ in range(MOST_MISSED):
            following = schedule.after(moment)
            if now - moment <= ON_TIME_MS or following is None or following > now:
                break
            moment, missed = following, missed + 1
    return Plan(moment, schedule.after(moment), missed)
