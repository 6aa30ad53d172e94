"""Where a job runs, and where its answer goes."""

from __future__ import annotations

from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.session_key import cron_key, global_key, main_key, normalise
from openclaw_workers.store.reader import Reader

INTERNAL = Route(channel="internal")


class Targets:
    def __init__(self, settings: Settings, reader: Reader) -> None:
        self._settings = settings
        self._reader = reader

    def agent(self, job: Job) -> str:
        """Whose job it is.

        Raises:
            NotFound: that agent is not configured.
        """
        return resolve_agent_id(self._settings, explicit=job.agent_id or None)

    def main(self, agent_id: str) -> SessionKey:
        rules = self._settings.session
        return global_key(agent_id) if rules.scope == "global" else main_key(agent_id, rules.main_key)

    def session(self, job: Job, time: int) -> SessionKey:
        """The session of a firing.

        Raises:
            NotFound: the job's agent is not configured.
            BadInput: the job names a session that cannot be.
        """
        agent = self.agent(job)
        if job.is_isolated:
            return cron_key(agent, job.id, str(time))
        if job.session_target == "main":
            return self.main(agent)
        named = job.session_target.removeprefix("session:")
        return normalise(named, default_agent=agent, main_key=self._settings.session.main_key)

    def route(self, job: Job, session: SessionKey) -> Route:
        """Where the answer goes: where the job says, else where the session, or the main one, was last spoken to."""
        if job.delivery == "none":
            return INTERNAL
        if job.channel and job.delivery == "announce":
            return Route(channel=job.channel, to=job.to, account_id=job.account_id, thread_id=job.thread_id)
        return self.last_route(self.main(self.agent(job)) if job.is_isolated else session)

    def last_route(self, session: SessionKey) -> Route:
        row = self._reader.row(session)
        return Route(
            channel=row.get("lastChannel") or INTERNAL.channel,
            to=row.get("lastTo", ""),
            account_id=row.get("lastAccountId", ""),
            thread_id=row.get("lastThreadId", ""),
        )
