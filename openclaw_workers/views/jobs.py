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
        "enabled": not state.paused,
        "agentId": job.agent_id,
        "schedule": job.schedule.describe(),
        "sessionTarget": job.session_target,
        "message": job.message or None,
        "systemEvent": job.system_event or None,
        "wakeMode": job.wake_mode,
        "model": job.model or None,
        "fallbacks": None if job.fallbacks is None else list(job.fallbacks),
        "thinking": job.thinking,
        "timeoutSeconds": job.timeout_seconds,
        "lightContext": job.light_context,
        "toolsAllow": list(job.tools_allow),
        "delivery": job.delivery,
        "channel": job.channel or None,
        "to": job.to or None,
        "accountId": job.account_id or None,
        "threadId": job.thread_id or None,
        "misfire": job.misfire,
        "misfireWindow": job.misfire_window,
        "overlap": job.overlap,
        "deleteAfterRun": job.removes_itself,
        "authority": job.authority,
        "createdBy": job.created_by,
        "createdAt": job.created_at or None,
        "maker": job.maker or None,
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
        "enabled": not state.paused,
        "schedule": stored.job.schedule.describe(),
        "nextAt": state.next_at,
        "paused": state.paused or None,
        "atWork": stored.at_work,
        "lastAt": state.last_at,
        "lastState": state.last_state or None,
        "lastReason": state.last_error or None,
        "log": [firing_json(each) for each in log],
    }
