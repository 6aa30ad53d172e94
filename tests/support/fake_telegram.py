"""A wire-level Bot API for the real python-telegram-bot: it records every call and misbehaves on request."""

from __future__ import annotations

import email.parser
import email.policy
import json
import select
import socket
import threading
import time
import urllib.request
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, unquote

from tests.support.fake_telegram_bot import ApiError, FakeBot
from tests.support.fake_telegram_updates import Json

JSON_PARAMETERS = (
    "allowed_updates",
    "caption_entities",
    "commands",
    "entities",
    "link_preview_options",
    "reaction",
    "reply_markup",
    "reply_parameters",
    "rich_message",
    "scope",
)
TOKEN = "4242:fake-telegram-token-of-the-first-bot"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer ok: false."""

    code: int
    description: str
    retry_after: int = 0


@dataclass(frozen=True, slots=True)
class Gateway:
    """Answer with an HTML page, as a proxy in front of the Bot API does."""

    code: int = 502


@dataclass(frozen=True, slots=True)
class Stall:
    """Do nothing and answer nothing, until the client goes away."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection without an answer: before the call has an effect, or after it."""

    after: bool = True


@dataclass(frozen=True, slots=True)
class Slow:
    """Answer so many seconds later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Answer after the test has set the event; `reached` is set when the call has had its effect."""

    go: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)


Behaviour = Refuse | Gateway | Stall | Cut | Slow | Hold


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method that reached the server."""

    token: str
    method: str
    params: Json
    at: float


class FakeTelegram:
    """Use as a context manager; `bot` is the first account."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.bots: dict[str, FakeBot] = {}
        self.bot = self.add_bot(TOKEN)
        self.closing = threading.Event()
        self._script: dict[str, deque[Behaviour]] = defaultdict(deque)
        self._always: dict[str, Behaviour] = {}
        self._lock = threading.Lock()
        fake = self

        class Handler(_Handler):
            server_state = fake

        self._http = _Http(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """The address of the API, as `channels.telegram.apiRoot` has it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def add_bot(self, token: str, username: str = "claw_bot") -> FakeBot:
        self.bots[token] = FakeBot(token, username=username)
        return self.bots[token]

    def script(self, method: str, *behaviours: Behaviour) -> None:
        """The next calls of a method go this way, one each."""
        with self._lock:
            self._script[method].extend(behaviours)

    def always(self, method: str, behaviour: Behaviour | None) -> None:
        """All calls of a method go this way; None ends it."""
        with self._lock:
            if behaviour is None:
                self._always.pop(method, None)
            else:
                self._always[method] = behaviour

    def called(self, method: str, token: str = TOKEN) -> list[Call]:
        with self._lock:
            return [call for call in self.calls if (call.method, call.token) == (method, token)]

    def record(self, call: Call) -> Behaviour | None:
        with self._lock:
            self.calls.append(call)
            if self._script[call.method]:
                return self._script[call.method].popleft()
            return self._always.get(call.method)

    def push(self, update: Json, token: str = TOKEN, *, secret: str | None = None) -> int:
        """Deliver an update to the bot's webhook; returns the status, 0 if nobody answered."""
        bot = self.bots[token]
        headers = {"content-type": "application/json"}
        headers["x-telegram-bot-api-secret-token"] = bot.webhook["secret_token"] if secret is None else secret
        request = urllib.request.Request(bot.webhook["url"], json.dumps(update).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code
        except (URLError, OSError):
            return 0


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that goes away is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_state: FakeTelegram

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        _, _, rest = self.path.partition("/bot")
        token, _, method = rest.partition("/")
        bot = self.server_state.bots.get(token)
        if bot is None:
            return self._json(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
        params, uploads = _arguments(self.headers.get("content-type") or "", body)
        behaviour = self.server_state.record(Call(token, method, params, time.monotonic()))
        return self._follow(behaviour, bot, method, params, uploads)

    def do_GET(self) -> None:
        """A file's content, or a method without parameters."""
        _, found, rest = unquote(self.path).partition("/file/bot")
        if not found:
            return self.do_POST()
        token, _, path = rest.partition("/")
        bot = self.server_state.bots.get(token)
        file = next((each for each in bot.files.values() if each.path == path), None) if bot else None
        self.server_state.record(Call(token, "download", {"path": path}, time.monotonic()))
        if file is None:
            return self._json(404, {"ok": False, "error_code": 404, "description": "Not Found"})
        self.send_response(200)
        self.send_header("content-length", str(len(file.content)))
        self.end_headers()
        pieces = 20
        size = max(1, -(-len(file.content) // pieces))
        for start in range(0, len(file.content), size):
            if file.seconds and self.server_state.closing.wait(file.seconds / pieces):
                return None
            self.wfile.write(file.content[start : start + size])
            self.wfile.flush()
        return None

    def _follow(
        self,
        behaviour: Behaviour | None,
        bot: FakeBot,
        method: str,
        params: Json,
        uploads: dict[str, tuple[str, bytes]],
    ) -> None:
        match behaviour:
            case Refuse(code, description, retry_after):
                parameters = {"retry_after": retry_after} if retry_after else {}
                return self._refuse(ApiError(code, description, **parameters))
            case Gateway(code):
                return self._send(code, b"<html><h1>Bad Gateway</h1></html>", "text/html")
            case Stall():
                return self._wait_for_end()
            case Cut(after):
                if after:
                    with suppress(ApiError):
                        bot.answer(method, params, uploads)
                return self._cut()
            case Slow(seconds):
                self.server_state.closing.wait(seconds)
        try:
            result = bot.answer(method, params, uploads)
        except ApiError as error:
            return self._refuse(error)
        if isinstance(behaviour, Hold):
            behaviour.reached.set()
            while not behaviour.go.wait(0.02) and not self.server_state.closing.is_set():
                pass
        return self._json(200, {"ok": True, "result": result})

    def _refuse(self, error: ApiError) -> None:
        body: Json = {"ok": False, "error_code": error.code, "description": error.description}
        if error.parameters:
            body["parameters"] = error.parameters
        self._json(error.code, body)

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _wait_for_end(self) -> None:
        self.close_connection = True
        poller = select.poll()
        poller.register(self.connection, select.POLLIN)
        while not self.server_state.closing.is_set():
            if poller.poll(20) and not self.connection.recv(4096):
                return

    def _json(self, status: int, body: Json) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def _arguments(kind: str, body: bytes) -> tuple[Json, dict[str, tuple[str, bytes]]]:
    """Parameters and uploaded files of a call; values that are JSON are parsed."""
    if not kind.startswith("multipart/"):
        return {name: _value(name, text) for name, text in parse_qsl(body.decode(), keep_blank_values=True)}, {}
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"content-type: " + kind.encode() + b"\r\n\r\n" + body
    )
    params: Json = {}
    uploads: dict[str, tuple[str, bytes]] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if part.get_filename() is None:
            params[name] = _value(name, content.decode())
        else:
            uploads[name] = (str(part.get_filename()), content)
    # The library names an upload `attach://<field>` in the parameter that it is for.
    for name, value in list(params.items()):
        if isinstance(value, str) and value.startswith("attach://"):
            uploads[name] = uploads.pop(value.removeprefix("attach://"))
    return params, uploads


def _value(name: str, text: str) -> Any:
    return json.loads(text) if name in JSON_PARAMETERS else text
