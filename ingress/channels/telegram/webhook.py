"""Updates that Telegram sends by itself: stored, then confirmed with 200."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ingress.channels.account_lease import Call
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Channels

log = structlog.get_logger(__name__)

HEADER = "x-telegram-bot-api-secret-token"
MOST_BYTES = 1 << 20


def webhook_url(url: str, account_id: str) -> str:
    """The address that Telegram is given. One without a path gets ours."""
    has_path = urlsplit(url).path.strip("/")
    return url if has_path else f"{url.rstrip('/')}/channels/telegram/{account_id}"


class Webhook:
    """Receives for one bot. Every ingress process has it, whichever of them Telegram reaches."""

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        channels: Channels,
        account: ChannelAccount,
        call: Call,
        received: Callable[[], None],
    ) -> None:
        self.url = webhook_url(url, account.account_id)
        self.secret = secret
        self._channels = channels
        self._account = account
        self._call = call
        self._received = received

    def route(self) -> Route:
        return Route(urlsplit(self.url).path, self.receive, methods=["POST"])

    async def receive(self, request: Request) -> Response:
        given = request.headers.get(HEADER, "")
        if not hmac.compare_digest(given.encode(), self.secret.encode()):
            return PlainTextResponse("wrong secret token\n", status_code=401)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return PlainTextResponse("too large\n", status_code=413)
        try:
            update = json.loads(body)
            number = int(update["update_id"])
        except (ValueError, KeyError, TypeError):
            return PlainTextResponse("no update\n", status_code=400)
        try:
            await self._call(self._channels.receive, self._account, {number: json.dumps(update)})
        except StoreUnavailable as error:  # Telegram delivers it again
            log.warning("telegram.not_stored", account=self._account.name, error=error.message)
            return PlainTextResponse("not now\n", status_code=503)
        self._received()
        return PlainTextResponse("ok\n")
