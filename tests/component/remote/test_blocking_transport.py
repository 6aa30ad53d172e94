"""Requests of commands to an ingress: errors keep their classes, and a broken connection is never used again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from openclaw_workers.errors import BadInput, NotFound, OpenClawError, StoreUnavailable
from openclaw_workers.remote.address import TERMINAL_HEADER, ApiAddress
from openclaw_workers.remote.blocking import BlockingTransport, ServerEvent

Talk = Callable[[socket.socket], None]


@contextmanager
def server(*talks: Talk) -> Iterator[BlockingTransport]:
    """Each connection is served by the next function. It gets the socket and closes it by returning."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for talk in talks:
                with listener.accept()[0] as connection:
                    talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        transport = BlockingTransport(
            ApiAddress(f"http://127.0.0.1:{listener.getsockname()[1]}/base/", "secret", terminal="zoë"), timeout=5
        )
        yield transport
        transport.close()
        thread.join(5)


def read_request(connection: socket.socket) -> bytes:
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(65536)
    return text


def answering(*answers: bytes, seen: list[bytes] | None = None) -> Talk:
    """Answers so many requests on one connection, and closes it."""

    def talk(connection: socket.socket) -> None:
        for answer in answers:
            request = read_request(connection)
            if seen is not None:
                seen.append(request)
            connection.sendall(answer)

    return talk


def http(body: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}".encode()


def test_a_request_names_path_query_token_and_user() -> None:
    seen: list[bytes] = []
    with server(answering(http('{"ok": true}'), seen=seen)) as transport:
        answer = transport.request("GET", "/runs", query={"limit": 3, "live": True, "label": None})

    assert answer == {"ok": True}
    head = seen[0].decode().splitlines()
    assert head[0] == "GET /base/api/v1/runs?limit=3&live=true HTTP/1.1"
    assert "Authorization: Bearer secret" in head
    assert f"{TERMINAL_HEADER}: zo%C3%AB" in head


@pytest.mark.parametrize(
    ("status", "kind"), [("400 Bad", BadInput), ("404 Not Found", NotFound), ("503 Unavailable", StoreUnavailable)]
)
def test_errors_keep_their_class_and_words(status: str, kind: type[OpenClawError]) -> None:
    body = '{"error": {"message": "no run x", "hint": "look again", "code": "x"}}'
    with server(answering(http(body, status))) as transport, pytest.raises(kind, match="no run x") as caught:
        transport.request("GET", "/runs/x")

    assert caught.value.hint == "look again"


def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    seen: list[bytes] = []
    with server(answering(http("1"), seen=seen), answering(http("2"), http("3"), seen=seen)) as transport:
        assert [transport.request("GET", "/a"), transport.request("GET", "/b")] == [1, 2]
        assert transport.request("POST", "/c", body={"text": "hi"}) == 3

    assert [each.split(b" ", 2)[0] for each in seen] == [b"GET", b"GET", b"POST"]


def test_half_an_answer_is_an_error_and_does_not_spoil_the_next_request() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
    with server(answering(half), answering(http("2"))) as transport:
        with pytest.raises(StoreUnavailable, match="did not answer"):
            transport.request("GET", "/a")
        assert transport.request("GET", "/b") == 2


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = ApiAddress(f"http://127.0.0.1:{listener.getsockname()[1]}")
    transport = BlockingTransport(address)

    assert not transport.connects()
    with pytest.raises(StoreUnavailable, match="did not answer"):
        transport.request("GET", "/status")


def test_events_are_read_until_the_stream_ends() -> None:
    chunks = [
        "retry: 1000\n\n",
        ": keep-alive\n\n",
        'id: 1-0\nevent: text.delta\ndata: {"text":\ndata: "a"}\n\n',
        "id: 2-0\r\nevent: run.ended\r\ndata: {}\r\n\r\n",
        "id: 3-0\ndata: cut off",
    ]
    parts = "".join(f"{len(chunk.encode()):x}\r\n{chunk}\r\n" for chunk in chunks) + "0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with server(answering((head + parts).encode())) as transport:
        stream = transport.events("/sessions/x/events", after="0")
        found = list(stream)
        stream.close()

    assert found == [ServerEvent("1-0", "text.delta", '{"text":\n"a"}'), ServerEvent("2-0", "run.ended", "{}")]


def test_a_refused_stream_is_an_error() -> None:
    body = '{"error": {"message": "no session x"}}'
    with server(answering(http(body, "404 Not Found"))) as transport, pytest.raises(NotFound, match="no session x"):
        transport.events("/sessions/x/events")
