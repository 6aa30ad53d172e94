"""Scheduled jobs as one running turn may use them: what the cron tool reaches."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from openclaw_workers.clock import iso
from openclaw_workers.domain.job import JobDraft
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.intake.system_events import SystemEvents
from openclaw_workers.engine.schedules.job_creators import JobCreators
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.engine.schedules.targets import Targets
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.schedules import StoredJob
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.cron.inputs import CronInput

LISTED = 50


@dataclass(frozen=True)
class ScheduleTools:
    """What the cron tools of all turns share."""

    jobs: JobService
    events: SystemEvents
    targets: Targets
    reader: Reader
    creators: JobCreators

    def for_turn(self, taken: Taken) -> TurnSchedules:
        return TurnSchedules(self, taken)


@dataclass(frozen=True)
class TurnSchedules:
    """Implements tools.cron.port.SchedulePort for one turn."""

    tools: ScheduleTools
    taken: Taken

    def handle(self, call_id: str, args: CronInput) -> str:
        actions = {
            "status": self._list,
            "list": self._list,
            "add": self._add,
            "update": self._update,
            "remove": self._remove,
            "run": self._run,
            "runs": self._runs,
            "wake": self._wake,
        }
        return json.dumps({"status": "ok", **actions[args.action](call_id, args)}, ensure_ascii=False)

    def _list(self, call_id: str, args: CronInput) -> dict[str, Any]:
        jobs = self.tools.jobs.jobs()
        if args.action == "status":
            return {"jobs": len(jobs), "paused": sum(bool(each.state.paused) for each in jobs)}
        return {"jobs": [_shown(each) for each in jobs[:LISTED]], "count": len(jobs)}

    def _add(self, call_id: str, args: CronInput) -> dict[str, Any]:
        """The id comes from the call, so that a call that is repeated after a crash adds nothing twice."""
        session = self.taken.lease.session
        job_id = f"job-{hashlib.sha256(f'{self.taken.lease.run} {call_id}'.encode()).hexdigest()[:10]}"
        draft = _draft({"agentId": agent_of(session), **args.job})
        jobs = self.tools.jobs
        try:
            stored = jobs.get(job_id)
        except NotFound:
            stored = jobs.add(
                draft,
                authority=self.taken.authority,
                created_by=session,
                current=session,
                maker=self.tools.creators.of_turn(self.taken),
                job_id=job_id,
            )
        return {"job": _shown(stored), "next": [iso(each) for each in jobs.next_times(stored.job)]}

    def _update(self, call_id: str, args: CronInput) -> dict[str, Any]:
        changes = _draft({"message": "x", **args.job}).model_dump(include=_given(args.job))
        stored = self.tools.jobs.change(args.job_id, changes, current=self.taken.lease.session)
        return {"job": _shown(stored), "next": [iso(each) for each in self.tools.jobs.next_times(stored.job)]}

    def _remove(self, call_id: str, args: CronInput) -> dict[str, Any]:
        self.tools.jobs.remove(args.job_id)
        return {"removed": args.job_id}

    def _run(self, call_id: str, args: CronInput) -> dict[str, Any]:
        return {"fired": args.job_id, "time": iso(self.tools.jobs.run(args.job_id))}

    def _runs(self, call_id: str, args: CronInput) -> dict[str, Any]:
        log = self.tools.jobs.log(args.job_id, args.limit)
        return {
            "runs": [{**each.model_dump(by_alias=True), "time": iso(each.time), "at": iso(each.at)} for each in log]
        }

    def _wake(self, call_id: str, args: CronInput) -> dict[str, Any]:
        session = self.tools.targets.main(agent_of(self.taken.lease.session))
        added = self.tools.events.add(
            session,
            source="cron",
            text=args.text,
            key=f"{self.taken.lease.run} {call_id}",
            wake=args.mode == "now",
            is_trusted=True,
            authority=self.taken.authority,
        )
        return {"added": added, "session": session}


def _given(job: dict[str, Any]) -> set[str]:
    names = {field.alias or name: name for name, field in JobDraft.model_fields.items()}
    return {names.get(each, each) for each in job}


def _draft(job: dict[str, Any]) -> JobDraft:
    try:
        return JobDraft.model_validate(job)
    except ValidationError as error:
        wrong = "; ".join(f"job.{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise BadInput(f"the job is not understood: {wrong}") from error


def _shown(stored: StoredJob) -> dict[str, Any]:
    job, state = stored.job, stored.state
    return {
        "id": job.id,
        "name": job.name,
        "schedule": job.schedule.describe(),
        "sessionTarget": job.session_target,
        "message": job.message or None,
        "systemEvent": job.system_event or None,
        "next": iso(state.next_at) if state.next_at else None,
        "paused": state.paused or None,
        "last": state.last_state or None,
        "failures": state.failures,
    }
