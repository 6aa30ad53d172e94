"""A client that costs little: requests over connections that stay open, and the time of each."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

Body = Callable[[int], Mapping[str, object]]


class Connection:
    """One connection, used for one request after the other."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._address)

    async def post(self, path: str, body: Mapping[str, object]) -> None:
        content = json.dumps(body)
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        self._writer.write((head + content).encode())
        await self._answer()

    async def watch(self, path: str) -> None:
        """Begin to follow a stream; the connection reads nothing after its head."""
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n".encode())
        assert b" 200 " in await self._reader.readuntil(b"\r\n\r\n")

    async def _answer(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, length = int(head[9:12]), 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        content = await self._reader.readexactly(length)
        assert status in (200, 202), content

    def close(self) -> None:
        self._writer.close()


async def load(url: str, token: str, path: str, body: Body, *, connections: int, requests: int) -> list[float]:
    """Make so many requests over so many connections; returns the milliseconds of each."""
    numbers, times = iter(range(requests)), list[float]()
    opened = [Connection(url, token) for _ in range(connections)]
    await asyncio.gather(*(each.open() for each in opened))
    await asyncio.gather(*(_work(each, path, body, numbers, times) for each in opened))
    for each in opened:
        each.close()
    return times


async def _work(connection: Connection, path: str, body: Body, numbers: Iterator[int], times: list[float]) -> None:
    for number in numbers:
        begun = time.perf_counter()
        await connection.post(path, body(number))
        times.append((time.perf_counter() - begun) * 1000)
