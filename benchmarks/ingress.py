"""What the ingress costs: accepting messages, waiting for answers, memory, and viewers."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.http_load import Connection, load
from benchmarks.stage import INSTANT, Stage, seconds
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.tokens import Tokens
from tests.support.redis_server import free_port
from tests.support.waiting import eventually

Figures = dict[str, Any]
SEND = "/api/v1/send"
SECOND = json.dumps({"steps": [{"text": "x", "delayMs": 1000}]})
VIEWERS = 1000
SESSIONS = 200


@dataclass
class Served:
    url: str
    token: str
    process: psutil.Process

    def send(self, body: Any, *, connections: int, requests: int) -> list[float]:
        return asyncio.run(load(self.url, self.token, SEND, body, connections=connections, requests=requests))

    def megabytes(self) -> float:
        return float(self.process.memory_info().rss / 1e6)


@contextmanager
def served(stage: Stage) -> Iterator[Served]:
    """Our ingress, and a token without a limit that a benchmark would reach."""
    stores = stage.cli.stores
    token = Tokens(stores.redis, stores.keys).create(Scope.ADMIN)[1]
    argv = [sys.executable, "-m", "openclaw_workers.cli.main", "ingress", "--port", "0"]
    known = Ingresses(stores.redis, stores.keys)
    with stage.process(argv, "ingress") as process:
        url = eventually(
            lambda: next((each.url for each in known.all() if each.facts["pid"] == str(process.pid)), None), within=30
        )
        yield Served(url, token, process)


@contextmanager
def bare(stage: Stage) -> Iterator[str]:
    port = free_port()
    with stage.process([sys.executable, "-m", "benchmarks.bare_route", str(port)], "bare"):
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: _answers(url), within=30)
        yield url


def _answers(url: str) -> bool:
    try:
        asyncio.run(load(url, "", "/send", lambda _: {"text": "x"}, connections=1, requests=1))
    except OSError:
        return False
    return True


def accepting(stage: Stage, *, rounds: int = 5, requests: int = 2000, connections: int = 50) -> Figures:
    """Accepted messages per second, for many sessions, against a bare route with one script."""
    ours, base, number = list[float](), list[float](), 0
    with stage.worker():
        pass  # it has kept the form of its wake-ups; nothing answers from here on
    with served(stage) as ingress, bare(stage) as url:
        for _ in range(rounds):
            number += 1
            begun = time.perf_counter()
            ingress.send(
                lambda each, part=number: {"text": "hello", "sessionKey": f"accept-{part}-{each % SESSIONS}"},
                connections=connections,
                requests=requests,
            )
            ours.append(requests / seconds(begun))
            begun = time.perf_counter()
            asyncio.run(load(url, "", "/send", lambda _: {"text": "hello"}, connections=connections, requests=requests))
            base.append(requests / seconds(begun))
    stage.server.client().flushdb()  # nothing is to answer these messages
    a, b = statistics.median(ours), statistics.median(base)
    return {"ours_per_second": round(a), "bare_per_second": round(b), "ratio": round(a / b, 2)}


def accept_times(stage: Stage, *, requests: int = 6000, connections: int = 50) -> Figures:
    """The slowest accepts against the median, while workers wait for a model that takes a second."""

    def body(number: int) -> dict[str, object]:
        return {"text": SECOND, "sessionKey": f"slow-{number % connections}", "mode": "followup"}

    with stage.worker(concurrency=50), served(stage) as ingress:
        ingress.send(body, connections=connections, requests=10 * connections)  # every session has a turn at work
        times = ingress.send(body, connections=connections, requests=requests)
    stage.server.client().flushdb()  # nothing is to answer the rest
    times.sort()
    median, p99 = statistics.median(times), times[int(len(times) * 0.99)]
    return {"median_ms": round(median, 2), "p99_ms": round(p99, 2), "ratio": round(p99 / median, 2)}


def answering(stage: Stage, *, rounds: int = 20, each: int = 10) -> Figures:
    """A POST that waits for the final answer, against the same in process."""
    ours, base = list[float](), list[float]()
    with stage.worker(), served(stage) as ingress:
        for _ in range(rounds):
            ours += ingress.send(
                lambda number: {"text": INSTANT, "sessionKey": f"post-{number}", "wait": "reply"},
                connections=1,
                requests=each,
            )
            for number in range(each):
                begun = time.perf_counter()
                stage.wait(stage.send(f"here-{number}"))
                base.append(seconds(begun) * 1000)
    a, b = statistics.median(ours), statistics.median(base)
    return {"post_ms": round(a, 2), "in_process_ms": round(b, 2), "ratio": round(a / b, 2)}


def viewers(stage: Stage, *, count: int = VIEWERS) -> Figures:
    """Memory of an idle ingress, and what each idle viewer adds to it."""
    stage.send("watched")
    with served(stage) as ingress:
        ingress.send(lambda _: {"text": "/status", "sessionKey": "watched"}, connections=1, requests=5)
        before = ingress.megabytes()
        with_viewers = asyncio.run(_watched(ingress, count))
    return {"idle_megabytes": round(before, 1), "kilobytes_per_viewer": round((with_viewers - before) * 1e3 / count, 1)}


async def _watched(ingress: Served, count: int) -> float:
    """The memory of the ingress while so many viewers watch."""
    opened = [Connection(ingress.url, ingress.token) for _ in range(count)]
    for start in range(0, count, 50):
        part = opened[start : start + 50]
        await asyncio.gather(*(each.open() for each in part))
        await asyncio.gather(*(each.watch("/api/v1/sessions/watched/events") for each in part))
    await asyncio.sleep(2)  # until what their requests needed is free again
    found = ingress.megabytes()
    for each in opened:
        each.close()
    return found
