"""Sends what a job has to say: to its chat, or as JSON to its webhook. All of it goes through the outbox."""

from __future__ import annotations

import json

from openclaw_workers.clock import iso
from openclaw_workers.config.session import SendPolicySettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import WEBHOOK, OutgoingKind, OutgoingMessage
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.webhook_url import is_allowed
from openclaw_workers.engine.delivery.send_policy import send_decision
from openclaw_workers.engine.schedules.targets import INTERNAL, Targets
from openclaw_workers.errors import OpenClawError
from openclaw_workers.logger import get_logger
from openclaw_workers.store.outbox import Outbox

log = get_logger(__name__)


class JobDelivery:
    def __init__(
        self,
        *,
        outbox: Outbox,
        targets: Targets,
        policy: SendPolicySettings,
        push_channels: frozenset[str],
        webhooks: tuple[str, ...],
    ) -> None:
        """`webhooks`: beginnings of the addresses that answers may be sent to."""
        self._outbox = outbox
        self._targets = targets
        self._policy = policy
        self._push_channels = push_channels
        self._webhooks = webhooks

    def say(self, job: Job, message_id: str, text: str, session: SessionKey, run_id: str = "") -> None:
        """Send a text to the job's chat. The id is made from the firing, so a repeat sends nothing twice."""
        try:
            route = self._targets.route(job, session)
        except OpenClawError as error:
            log.warning("job.not_delivered", job=job.id, error=error.message)
            return
        if text and route != INTERNAL and route.channel in self._push_channels:
            self._put(job, _message(message_id, text, session, run_id, route))

    def report(self, job: Job, time: int, session: SessionKey, run: Run | None, error: str) -> None:
        """Send how a firing ended to the job's webhook."""
        if not is_allowed(job.to, self._webhooks):
            log.warning("job.not_delivered", job=job.id, error="cron.webhooks.allow does not allow its address")
            return
        is_ok = run is not None and run.state is RunState.OK
        body = {
            "jobId": job.id,
            "name": job.name,
            "time": iso(time),
            "state": "ok" if is_ok else "error",
            "text": run.text if run and is_ok else None,
            "error": None if is_ok else error,
            "sessionKey": session,
            "runId": run.id if run else None,
        }
        route = Route(channel=WEBHOOK, account_id=DEFAULT_ACCOUNT, to=job.to)
        text = json.dumps(body, ensure_ascii=False)
        message_id, run_id = f"out-cron-{job.id}-{time}", run.id if run else ""
        self._put(job, _message(message_id, text, session, run_id, route))

    def _put(self, job: Job, message: OutgoingMessage) -> None:
        if send_decision(self._policy, SessionKey(message.session_key), message.route.channel) == "deny":
            log.info("job.not_delivered", job=job.id, error="the send policy denies it")
        else:
            self._outbox.put(message)


def _message(message_id: str, text: str, session: SessionKey, run_id: str, route: Route) -> OutgoingMessage:
    kind = OutgoingKind.ANNOUNCE
    return OutgoingMessage(id=message_id, kind=kind, route=route, session_key=session, run_id=run_id, text=text)
