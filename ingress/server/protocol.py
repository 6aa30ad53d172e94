"""uvicorn's HTTP protocol, with an end to clients that send no request, or read no answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_HEAD_BYTES = 32 << 10
"""Of the request line and the headers together."""


def _refusal(status: str, code: str, message: str) -> bytes:
    body = json.dumps({"error": {"code": code, "message": message, "hint": None}})
    head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n{body}".encode()


TOO_LARGE = _refusal(
    "431 Request Header Fields Too Large", "too_large", f"address and headers are over {MOST_HEAD_BYTES:,} bytes"
)
TOO_SLOW = _refusal("408 Request Timeout", "timeout", "the request did not come in time")
LINGER_SECONDS = 2.0
SLOWEST_BYTES_PER_SECOND = 16_384
"""A body may take as long as a head, and longer only if it comes at this pace."""


class GuardedProtocol(H11Protocol):
    """Closes a connection whose request head is too large or not complete in time, or whose answer nobody reads.

    uvicorn ends a connection only between two requests, and measures an incomplete head only.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._body_until = 0.0
        self._head_bytes = 0
        self._is_closing = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_LingeringTransport(transport, self))  # type: ignore[arg-type]
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._is_closing:
            return  # the rest of a body that was refused
        if self.conn.their_state is h11.IDLE and self._is_head_too_large(data):
            self.transport.write(TOO_LARGE)
            self.transport.close()
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._head_bytes = 0
            self._stop_head_timer()
        if self.conn.their_state is h11.SEND_BODY:
            self._expect_body(len(data))
        else:
            self._stop_body_timer()

    def eof_received(self) -> None:
        if self._is_closing:
            self.transport.abort()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_body_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def linger(self) -> bool:
        """Whether the client may still be sending: if it was cut off now, it would not read our answer."""
        if self.conn.their_state not in (h11.SEND_BODY, h11.IDLE, h11.ERROR) or self.cycle is None:
            return False
        self._is_closing = True
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
        return True

    def _is_head_too_large(self, data: bytes) -> bool:
        end = data.find(b"\r\n\r\n")
        self._head_bytes += len(data) if end < 0 else end
        return self._head_bytes > MOST_HEAD_BYTES

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def _expect_body(self, size: int) -> None:
        if self._body_timer is None:
            self._body_until = self.loop.time() + self.timeout_keep_alive
            self._body_timer = self.loop.call_at(self._body_until, self._check_body)
        self._body_until += size / SLOWEST_BYTES_PER_SECOND

    def _check_body(self) -> None:
        if self._body_until > self.loop.time():
            self._body_timer = self.loop.call_at(self._body_until, self._check_body)
            return
        self._body_timer = None
        if self.cycle is not None and not self.cycle.response_started:
            self.transport.write(TOO_SLOW)
            self.cycle.response_started = self.cycle.response_complete = self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _stop_body_timer(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


class _LingeringTransport:
    """Sends the pieces of an answer together. Closes its side first while a client still sends what was refused."""

    def __init__(self, transport: asyncio.Transport, protocol: GuardedProtocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self._is_closing = False
        self._pieces: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """uvicorn writes head and body apart, which costs a system call and often a packet more."""
        if not self._pieces:
            self._protocol.loop.call_soon(self._flush)
        self._pieces.append(data)

    def _flush(self) -> None:
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._transport.write(b"".join(pieces))

    def close(self) -> None:
        self._flush()
        if self._is_closing or self._transport.is_closing():
            return
        self._is_closing = True
        if self._transport.can_write_eof() and self._protocol.linger():
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()

    def is_closing(self) -> bool:
        return self._is_closing or self._transport.is_closing()
