"""Scheduled jobs and heartbeats as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw_workers.domain.job import HEARTBEAT, LogEntry
from openclaw_workers.store.schedules import StoredJob


def job_json(stored: StoredJob, times: Sequence[int] = ()) -> dict[str, Any]:
    """docs/cli.md describes the fields. `times`: the next times, where they are asked for."""
    job, state = stored.job, stored.state
    return {
        "id": job.id,
        "name": job.name,
        "agentId": job.agent_id,
        "schedule": job.schedule.describe(),
        "sessionTarget": job.session_target,
        "message": job.message or None,
        "systemEvent": job.system_event or None,
        "delivery": job.delivery,
        "channel": job.channel or None,
        "to": job.to or None,
        "misfire": job.misfire,
        "overlap": job.overlap,
        "deleteAfterRun": job.removes_itself,
        "authority": job.authority,
        "createdBy": job.created_by,
        "declared": job.declared,
        "nextAt": state.next_at,
        "nextTimes": list(times),
        "paused": state.paused or None,
        "atWork": stored.at_work,
        "failures": state.failures,
        "lastAt": state.last_at,
        "lastState": state.last_state or None,
        "lastError": state.last_error or None,
    }


def firing_json(entry: LogEntry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "state": entry.state,
        "reason": entry.reason or None,
        "sessionKey": entry.session or None,
        "runId": entry.run or None,
        "at": entry.at,
    }


def heartbeat_json(stored: StoredJob, log: Sequence[LogEntry]) -> dict[str, Any]:
    state = stored.state
    return {
        "agentId": stored.job.id.removeprefix(HEARTBEAT),
        "schedule": stored.job.schedule.describe(),
        "nextAt": state.next_at,
        "paused": state.paused or None,
        "log": [firing_json(each) for each in log],
    }
