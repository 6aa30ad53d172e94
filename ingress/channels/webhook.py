"""Answers of scheduled jobs to webhooks: one POST of JSON for each. Nothing is received here."""

from __future__ import annotations

import asyncio

import httpx2

from ingress.channels.adapter import Capabilities, Part, SendLater, SendRefused, SentPart
from openclaw_workers.config.cron import CronWebhookSettings
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import WEBHOOK, OutgoingMessage
from openclaw_workers.domain.webhook_url import is_allowed

SECONDS = 30.0
BUSY = (429, 503)


class WebhookAdapter:
    """Implements Adapter. A receiver that wants to be sure handles each `Idempotency-Key` once."""

    channel = WEBHOOK
    account_id = DEFAULT_ACCOUNT
    capabilities = Capabilities()

    def __init__(self, settings: CronWebhookSettings) -> None:
        self._settings = settings

    async def run(self) -> None:
        # Returning would look like a failure of the service.
        await asyncio.Event().wait()

    def render(self, message: OutgoingMessage) -> list[Part]:
        return [Part(payload={"body": message.text})]

    async def send(self, route: Route, part: Part) -> SentPart:
        # The configuration may have changed since the job was made.
        if not is_allowed(route.to, self._settings.allow):
            raise SendRefused("cron.webhooks.allow does not allow this address", permanent=True)
        headers = {"content-type": "application/json", "idempotency-key": part.key}
        if self._settings.token is not None:
            headers["authorization"] = f"Bearer {self._settings.token.get_secret_value()}"
        try:
            # Without redirects: they could lead to an address that is not allowed.
            async with httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client:
                answer = await client.post(route.to, content=str(part.payload["body"]).encode(), headers=headers)
        # Only here is it certain that nothing was sent. After a time-out the receiver may have the request.
        except httpx2.ConnectError as error:
            raise SendRefused(f"it cannot be reached: {error}", permanent=False) from error
        _check(answer.status_code, answer.headers.get("retry-after", ""))
        return SentPart()

    async def typing(self, route: Route) -> None:
        """There is nobody to see it."""


def _check(status: int, retry_after: str) -> None:
    if 200 <= status < 300:
        return
    if status in BUSY and retry_after.isdecimal():
        raise SendLater(float(retry_after), f"it answered {status}")
    raise SendRefused(f"it answered {status}", permanent=status < 500 and status not in (408, 429))
