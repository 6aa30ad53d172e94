"""Webhooks of jobs over real HTTP: posted once with key and token, and every refusal has its meaning."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import SecretStr

from ingress.channels.adapter import Part, SendLater, SendRefused
from ingress.channels.webhook import WebhookAdapter
from openclaw_workers.config.cron import CronWebhookSettings
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import WEBHOOK, OutgoingKind, OutgoingMessage

BODY = {"jobId": "a", "text": "grüße"}


class Receiver(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answer: tuple[int, dict[str, str]] = (200, {})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        status, headers = self.server.answer
        self.send_response(status)
        for name, value in {**headers, "content-length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send(url: str, *, allow: str = "") -> None:
    adapter = WebhookAdapter(CronWebhookSettings(allow=(allow or url,), token=SecretStr("secret")))
    route = Route(channel=WEBHOOK, to=url)
    (part,) = adapter.render(OutgoingMessage(id="m", kind=OutgoingKind.ANNOUNCE, route=route, text=json.dumps(BODY)))
    asyncio.run(adapter.send(route, Part(payload=part.payload, key="m/0")))


def test_an_answer_is_posted_once_with_its_key_and_token(receiver: Receiver) -> None:
    send(f"{receiver.url}/hooks/a")
    ((path, headers, body),) = receiver.requests
    assert (path, body) == ("/hooks/a", BODY)
    assert headers["authorization"] == "Bearer secret"
    assert (headers["idempotency-key"], headers["content-type"]) == ("m/0", "application/json")


@pytest.mark.parametrize(("status", "permanent"), [(400, True), (404, True), (500, False), (503, False), (429, False)])
def test_a_refusal_is_for_good_or_for_now(receiver: Receiver, status: int, permanent: bool) -> None:
    receiver.answer = (status, {})
    with pytest.raises(SendRefused) as refused:
        send(receiver.url)
    assert refused.value.permanent is permanent


def test_it_waits_as_long_as_it_is_asked_to(receiver: Receiver) -> None:
    receiver.answer = (429, {"retry-after": "7"})
    with pytest.raises(SendLater) as later:
        send(receiver.url)
    assert later.value.seconds == 7


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answer = (302, {"location": f"{receiver.url}/elsewhere"})
    with pytest.raises(SendRefused):
        send(f"{receiver.url}/hooks")
    assert len(receiver.requests) == 1


def test_an_address_that_is_no_longer_allowed_gets_nothing(receiver: Receiver) -> None:
    with pytest.raises(SendRefused) as refused:
        send(f"{receiver.url}/hooks", allow="https://example.com")
    assert refused.value.permanent
    assert not receiver.requests


def test_nobody_there_is_tried_again() -> None:
    with pytest.raises(SendRefused) as refused:
        send("http://127.0.0.1:9/hooks")
    assert not refused.value.permanent
