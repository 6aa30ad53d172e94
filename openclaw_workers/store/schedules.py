"""Scheduled jobs in Redis: what they are, when they are due, which firings are at work, and how earlier ones ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from openclaw_workers.domain.job import MOST_FAILURES, RETRY_MS, Firing, Job, JobState, LogEntry
from openclaw_workers.domain.stored_json import check_form, model_json
from openclaw_workers.errors import BadInput, CorruptRecord, NotFound, StoreFull
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import FIRING, Keys
from openclaw_workers.store.pipelines import each_answer

MOST_JOBS = 200_000


@dataclass(frozen=True, slots=True)
class StoredJob:
    job: Job
    state: JobState
    at_work: int = 0
    """How many firings have not ended."""


class Schedules:
    def __init__(self, redis: Client, keys: Keys, *, log_entries: int) -> None:
        self._redis = redis
        self._keys = keys
        self._kept = log_entries

    def add(self, job: Job, next_at: int | None) -> None:
        """Add a job.

        Raises:
            BadInput: there is one with this id, or there are too many.
            StoreFull: Redis has little memory left.
        """
        self._put(job, next_at, "add")

    def change(self, job: Job, next_at: int | None) -> None:
        """Replace a job. It keeps the time that is due next unless its schedule is another one.

        Raises:
            NotFound: there is no such job.
        """
        self._put(job, next_at, "change")

    def declare(self, job: Job, next_at: int | None) -> None:
        """Add or replace a job of the configuration; an unchanged one is not written again."""
        self._put(job, next_at, "declare")

    def _put(self, job: Job, next_at: int | None, verb: str) -> None:
        k = self._keys
        reply = run_script(
            self._redis,
            "job_put",
            keys={**k.shared("jobs", "due", "memory"), "job": k.job(job.id)},
            args={
                "id": job.id,
                "spec": model_json(job, by_alias=True),
                "next_at": _text(next_at),
                "verb": verb,
                "most": MOST_JOBS,
            },
        )
        match reply:
            case ["known"]:
                raise BadInput(f"there is a job {job.id} already", hint=f"`ocw cron edit {job.id}` changes it")
            case ["missing"]:
                raise _missing(job.id)
            case ["full"]:
                raise BadInput(f"there are {MOST_JOBS:,} jobs already", hint="`ocw cron remove ID` removes one")
            case ["memory", percent]:
                raise StoreFull(int(percent))

    def pause(self, job_id: str, reason: str) -> None:
        """Pause a job until it is resumed; raises NotFound."""
        self._pause(job_id, reason, None)

    def resume(self, job_id: str, next_at: int | None) -> None:
        """Let a paused job go on; raises NotFound."""
        self._pause(job_id, "", next_at)

    def _pause(self, job_id: str, reason: str, next_at: int | None) -> None:
        reply = run_script(
            self._redis,
            "job_pause",
            keys={"job": self._keys.job(job_id), "due": self._keys.due},
            args={"id": job_id, "paused": reason, "next_at": _text(next_at)},
        )
        if reply[0] == "missing":
            raise _missing(job_id)

    def remove(self, job_id: str) -> bool:
        """Remove a job; False if there is none."""
        k = self._keys
        reply = run_script(
            self._redis,
            "job_remove",
            keys={**k.shared("jobs", "due"), "job": k.job(job_id), "firings": k.job_firings(job_id)},
            args={"id": job_id},
        )
        return bool(reply[0] == "removed")

    def skip(
        self,
        job_id: str,
        time: int,
        following: int | None,
        *,
        state: Literal["", "ok", "skipped", "missed"] = "",
        reason: str = "",
        session: str = "",
    ) -> bool:
        """Pass over a time; False if another worker was faster. Without a state the run log says nothing of it."""
        k = self._keys
        reply = run_script(
            self._redis,
            "job_skip",
            keys={"job": k.job(job_id), "log": k.job_log(job_id), "due": k.due},
            args={
                "id": job_id,
                "at": str(time),
                "next_at": _text(following),
                "state": state,
                "reason": reason,
                "session": session,
                "kept": self._kept,
            },
        )
        return bool(reply[0] == "passed")

    def settle(
        self,
        job_id: str,
        time: int,
        *,
        state: Literal["ok", "error"],
        reason: str = "",
        run: str = "",
        session: str = "",
        removes: bool = False,
        is_transient: bool = False,
    ) -> str | None:
        """Record how a firing ended; what became of the job: "", paused, removed or retried. None: it was recorded."""
        k = self._keys
        reply = run_script(
            self._redis,
            "job_settle",
            keys={
                **k.shared("jobs", "due"),
                "job": k.job(job_id),
                "firings": k.job_firings(job_id),
                "log": k.job_log(job_id),
            },
            args={
                "id": job_id,
                "at": str(time),
                "state": state,
                "reason": reason,
                "run": run,
                "session": session,
                "kept": self._kept,
                "most": MOST_FAILURES,
                "removes": removes,
                "is_transient": is_transient,
                "retries": json.dumps(RETRY_MS),
            },
        )
        return str(reply[1]) if reply[0] == "settled" else None

    def get(self, job_id: str) -> StoredJob | None:
        """A job and how it stands.

        Raises:
            CorruptRecord: it cannot be read.
        """
        return next(iter(self._read([job_id])), None)

    def look(self, job_id: str) -> tuple[StoredJob | None, int]:
        """A job, how it stands, and the time by Redis, in one exchange.

        Raises:
            CorruptRecord: it cannot be read.
        """
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(k.job(job_id))
            pipe.hlen(k.job_firings(job_id))
            pipe.time()
            raw, at_work, (seconds, micros) = each_answer(pipe)
        return _stored(job_id, raw, at_work) if raw else None, int(seconds) * 1000 + int(micros) // 1000

    def jobs(self, limit: int = 1_000) -> list[StoredJob]:
        """Jobs, newest first; those that cannot be read are left out."""
        with store_errors():
            ids = self._redis.zrange(self._keys.jobs, 0, limit - 1, desc=True)
        return self._read([str(each) for each in ids], skip_damaged=True)

    def count(self) -> int:
        with store_errors():
            return int(self._redis.zcard(self._keys.jobs))

    def _read(self, ids: Sequence[str], *, skip_damaged: bool = False) -> list[StoredJob]:
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hgetall(k.job(job_id))
                pipe.hlen(k.job_firings(job_id))
            replies = each_answer(pipe)
        found = []
        for job_id, raw, at_work in zip(ids, replies[::2], replies[1::2], strict=True):
            if not raw:
                continue
            try:
                found.append(_stored(job_id, raw, at_work))
            except CorruptRecord:
                if not skip_damaged:
                    raise
        return found

    def firing(self, job_id: str, time: int) -> Firing | None:
        """A firing that has not ended."""
        with store_errors():
            raw = self._redis.hget(self._keys.job_firings(job_id), str(time))
        return Firing.model_validate_json(str(raw)) if raw else None

    def log(self, job_id: str, limit: int = 50) -> list[LogEntry]:
        """How earlier firings ended, newest first."""
        with store_errors():
            raws: Any = self._redis.lrange(self._keys.job_log(job_id), 0, limit - 1)
        return [LogEntry.model_validate_json(str(raw)) for raw in raws]


def firing_item(job_id: str, time: int) -> str:
    return f"{FIRING}{job_id} {time}"


def _stored(job_id: str, raw: dict[str, str], at_work: int) -> StoredJob:
    check_form(raw.get("v"), f"job {job_id}")
    try:
        job = Job.model_validate_json(raw.get("job", ""))
        state = JobState(
            next_at=int(raw["next_at"]) if raw.get("next_at") else None,
            paused=raw.get("paused", ""),
            failures=int(raw.get("failures") or 0),
            retries=int(raw.get("retries") or 0),
            last_at=int(raw["last_at"]) if raw.get("last_at") else None,
            last_state=raw.get("last_state", ""),
            last_error=raw.get("last_error", ""),
        )
    except (ValidationError, ValueError) as error:
        raise CorruptRecord(f"job {job_id}", "it is not in the form this version writes") from error
    return StoredJob(job, state, int(at_work or 0))


def _text(time: int | None) -> str:
    return "" if time is None else str(time)


def _missing(job_id: str) -> NotFound:
    return NotFound(f"no job {job_id}", hint="`ocw cron list` shows all there are")
