"""Scheduled jobs and heartbeats as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from openclaw_workers.cli.render.text import age, field_list, span, table
from openclaw_workers.clock import now_ms

SHOWN_CHARS = 50


def moment(at_ms: int | None) -> str:
    """A time by this machine's clock and zone."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if at_ms else "-"


def jobs_table(jobs: Sequence[Mapping[str, Any]]) -> str:
    head = ("JOB", "NAME", "WHEN", "NEXT", "LAST", "WHERE", "WHAT")
    rows = [
        (
            each["id"],
            each["name"] or "-",
            each["schedule"],
            _next(each),
            each["lastState"] or "-",
            each["sessionTarget"],
            (each["message"] or each["systemEvent"] or "")[:SHOWN_CHARS],
        )
        for each in jobs
    ]
    return table(head, rows, cut=("WHAT", "NAME", "WHEN"))


def job_details(job: Mapping[str, Any]) -> str:
    times = [("next" if index == 0 else "then", moment(at)) for index, at in enumerate(job["nextTimes"])]
    return field_list(
        [
            ("job", job["id"]),
            ("name", job["name"]),
            ("when", job["schedule"]),
            ("where", job["sessionTarget"]),
            ("paused", job["paused"]),
            *times,
        ]
    )


def firings_table(firings: Sequence[Mapping[str, Any]]) -> str:
    head = ("TIME", "STATE", "RECORDED", "RUN", "REASON")
    rows = [
        (moment(each["time"]), each["state"], age(each["at"]), each["runId"] or "-", each["reason"] or "-")
        for each in firings
    ]
    return table(head, rows, cut=("REASON",))


def heartbeats_table(beats: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for each in beats:
        last = each["log"][0] if each["log"] else {}
        said = f"{last['state']} {last['reason'] or ''}".strip() if last else "-"
        rows.append((each["agentId"], each["schedule"], _next(each), said, age(last.get("at"))))
    return table(("AGENT", "WHEN", "NEXT", "LAST", "AGE"), rows, cut=("LAST", "WHEN"))


def _next(each: Mapping[str, Any]) -> str:
    if each["paused"]:
        return "paused"
    return f"in {span(each['nextAt'] - now_ms())}" if each["nextAt"] else "-"
