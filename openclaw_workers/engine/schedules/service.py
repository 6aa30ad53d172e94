"""Jobs as people and agents see them: add, change, list, run, pause and remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.resolve import resolve_agent, resolve_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import Job, JobDraft, JobFields, LogEntry, check_job_id, make_job, new_job_id
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.schedule import next_times
from openclaw_workers.domain.session_key import ChatType, Kind, parse_key
from openclaw_workers.domain.webhook_url import is_allowed
from openclaw_workers.engine.delivery.chats import push_channels
from openclaw_workers.engine.schedules.fire import WITHDRAWN, Firing
from openclaw_workers.engine.schedules.targets import Targets
from openclaw_workers.errors import BadInput, ConflictError, NotFound
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.inbox import JobFiring
from openclaw_workers.store.schedules import Schedules, StoredJob

WHEN = frozenset({"at", "every", "anchor", "cron", "tz"})


class JobService:
    def __init__(
        self, *, store: Schedules, due: DueItems, firing: Firing, targets: Targets, settings: Settings
    ) -> None:
        self._store = store
        self._due = due
        self._firing = firing
        self._targets = targets
        self._settings = settings

    def add(
        self,
        draft: JobDraft,
        *,
        authority: Authority,
        created_by: str,
        current: SessionKey | None = None,
        maker: str = "",
        job_id: str = "",
    ) -> StoredJob:
        """Add a job. `current`: the session in which it is made. `maker`: who must stay an owner for it to run.

        Raises:
            BadInput: the job makes no sense, its time has passed, or there is one with this id.
            NotFound: there is no such agent.
        """
        now = self._due.now_ms()
        default = "main" if draft.system_event else "current" if current else "isolated"
        fields = self._checked(draft.model_dump(exclude=set(WHEN)), current, default)
        schedule = draft.schedule(now, self._zone(fields["agent_id"]))
        job = make_job(
            {
                **fields,
                "id": check_job_id(job_id) if job_id else new_job_id(draft.name),
                "schedule": schedule,
                "authority": authority,
                "created_by": created_by,
                "created_at": now,
                "maker": maker,
            }
        )
        if job.is_heartbeat:
            raise BadInput("the id of a job does not begin with heartbeat-")
        job = self._with_chat(job, self._targets.session(job, now))
        following = schedule.after(now)
        if following is None:
            raise BadInput("the job would never run: its time has passed", hint="name a time in the future")
        self._store.add(job, following)
        return self.get(job.id)

    def change(self, job_id: str, changes: Mapping[str, Any], *, current: SessionKey | None = None) -> StoredJob:
        """Change fields of a job; `at`, `every` or `cron` among them replace its schedule.

        Raises:
            NotFound: there is no such job.
            BadInput: it is declared in the configuration, or no longer makes sense.
        """
        stored, now = self.get(job_id), self._due.now_ms()
        self._check_own(stored.job)
        merged = {**stored.job.model_dump(exclude={"schedule"}), **{k: v for k, v in changes.items() if k not in WHEN}}
        if changes.get("message"):
            merged["system_event"] = changes.get("system_event", "")
        elif changes.get("system_event"):
            merged["message"] = ""
        fields = self._checked({k: merged[k] for k in JobFields.model_fields}, current, stored.job.session_target)
        when = {name: value for name, value in changes.items() if name in WHEN}
        schedule = stored.job.schedule
        if when:
            # A draft needs a message; only its schedule is used.
            schedule = JobDraft(message="x", **when).schedule(now, self._zone(fields["agent_id"]))
        job = make_job({**merged, **fields, "schedule": schedule})
        # Raises if there can be no such session, before anything is stored.
        self._targets.session(job, now)
        self._store.change(job, schedule.after(now))
        return self.get(job_id)

    def get(self, job_id: str) -> StoredJob:
        """One job; raises NotFound."""
        stored = self._store.get(job_id)
        if stored is None:
            raise NotFound(f"no job {job_id}", hint="`ocw cron list` shows all there are")
        return stored

    def jobs(self, *, with_heartbeats: bool = False) -> list[StoredJob]:
        return [each for each in self._store.jobs() if with_heartbeats or not each.job.is_heartbeat]

    def next_times(self, job: Job, count: int = 5) -> list[int]:
        return next_times(job.schedule, self._due.now_ms(), count)

    def remove(self, job_id: str) -> None:
        """Remove a job; raises NotFound, and BadInput for one of the configuration."""
        self._check_own(self.get(job_id).job)
        self._store.remove(job_id)

    def run(self, job_id: str) -> int:
        """Fire a job now, besides its own times; returns the time of this firing.

        Raises:
            NotFound: there is no such job.
            ConflictError: too many messages wait in its session.
        """
        job, now = self.get(job_id).job, self._due.now_ms()
        if not self._firing.fire(job, JobFiring(job.id, now, None, is_manual=True)):
            raise ConflictError(f"{job_id} was not fired: too many messages wait in its session", hint="try it later")
        return now

    def pause(self, job_id: str) -> StoredJob:
        """Pause a job until it is resumed; raises NotFound."""
        self._store.pause(job_id, "paused by hand")
        return self.get(job_id)

    def resume(self, job_id: str) -> StoredJob:
        """Let a paused job go on with its next time after now; raises NotFound.

        One that stopped because its maker is no longer an owner belongs to whoever resumes it.
        """
        stored = self.get(job_id)
        job, following = stored.job, stored.job.schedule.after(self._due.now_ms())
        if stored.state.paused == WITHDRAWN:
            self._store.change(job.model_copy(update={"maker": ""}), following)
        self._store.resume(job_id, following)
        return self.get(job_id)

    def make_due(self, job_id: str) -> StoredJob:
        """Let a job's next time be now; a worker then decides as at any other time. Raises NotFound."""
        self._store.resume(job_id, self._due.now_ms())
        return self.get(job_id)

    def log(self, job_id: str, limit: int = 50) -> list[LogEntry]:
        return self._store.log(job_id, limit)

    def _zone(self, agent_id: str) -> str:
        return resolve_agent(self._settings, agent_id).user_timezone

    def _checked(self, fields: dict[str, Any], current: SessionKey | None, default: str) -> dict[str, Any]:
        """Fields with what they leave open filled in: the agent, the model's full name, the session."""
        target = fields["session_target"] or default
        if target == "current":
            if current is None:
                raise BadInput("there is no current session here", hint="name main, isolated or session:<key>")
            target = f"session:{current}"
        agent = fields["agent_id"]
        if not agent and target.startswith("session:agent:"):
            agent = target.split(":")[2]
        agent = resolve_agent_id(self._settings, explicit=agent or None)
        model = find_model(self._settings, fields["model"]) if fields["model"] else ""
        given = fields["fallbacks"]
        fallbacks = None if given is None else tuple(find_model(self._settings, name) for name in given)
        if fields["delivery"] == "webhook" and not is_allowed(fields["to"], self._settings.cron.webhooks.allow):
            hint = "cron.webhooks.allow lists the addresses that answers may be sent to"
            raise BadInput(f"a webhook at {fields['to']!r} is not allowed", hint=hint)
        return {**fields, "agent_id": agent, "session_target": target, "model": model, "fallbacks": fallbacks}

    def _with_chat(self, job: Job, session: SessionKey) -> Job:
        """The chat of a session that may be gone by then: one that is removed when nobody uses it."""
        key = parse_key(session, main_key=self._settings.session.main_key)
        is_kept = key.kind in (Kind.MAIN, Kind.GLOBAL) or key.chat_type is not ChatType.DM
        if job.is_isolated or is_kept or job.system_event or job.delivery != "announce" or job.channel:
            return job
        route = self._targets.last_route(session)
        if route.channel not in push_channels(self._settings):
            return job
        return job.model_copy(update=route.model_dump())

    def _check_own(self, job: Job) -> None:
        if job.declared:
            raise BadInput(f"{job.id} is declared in the configuration", hint="change or remove it there")
