"""The setup of every measurement: a Redis with AOF, our workers, raw Celery workers, and a client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from openclaw_workers.cli.context import CliContext
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, Route
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually
from tests.support.wire import WireServer

ROUTE = Route(channel="bench")
HERE = Path(__file__).parent
COUNTED = {"PYTHONPATH": os.pathsep.join([str(HERE / "counted"), str(HERE.parent)])}
NOTHING: Mapping[str, str] = {}
APIS = {"chat": "openai-completions", "responses": "openai-responses", "messages": "anthropic-messages"}
"""By the name of the agent, which is also the provider's."""
MODEL = {"contextWindow": 200_000, "maxTokens": 8_192}
"""A common size: a long conversation fits."""
INSTANT = '{"steps": [{"text": "x"}]}'


@dataclass
class Stage:
    server: RedisServer
    models: WireServer
    """Serves the three model APIs."""
    cli: CliContext
    folder: Path

    def send(self, session: str, program: str = INSTANT, *, agent: str = "main") -> Queued:
        sent = self.cli.intake.accept(
            program,
            session=SessionKey(f"agent:{agent}:{session}"),
            route=ROUTE,
            authority=Authority.OWNER,
            model="offline/script" if agent == "main" else None,
        )
        assert isinstance(sent, Queued)
        return sent

    def wait(self, sent: Queued) -> None:
        """Wait for the final reply event of the run that covers the message."""
        last = sent.event_id
        while True:
            for event in self.cli.stores.reader.events(sent.session_key, last, block_ms=2000):
                last = event.id
                if event.type == "run.ended" and sent.message_id in event.data["covers"]:
                    assert event.data["state"] == "ok", event.data
                    return

    @contextmanager
    def worker(self, *, concurrency: int = 4, lane: str = "main", counted: bool = False) -> Iterator[psutil.Process]:
        """Start one of our workers. With `counted` it counts what Celery publishes."""
        argv = [sys.executable, "-m", "openclaw_workers.cli.main", "worker", "--lane", lane, "--loglevel", "WARNING"]
        client = self.server.client()
        before = client.zcard("ocw:workers")
        argv += ["--concurrency", str(concurrency)]
        with self.process(argv, f"ours-{lane}", COUNTED if counted else NOTHING) as process:
            eventually(lambda: client.zcard("ocw:workers") > before, within=30)
            if lane == "main":
                self.wait(self.send("warm-up"))
            yield process
        client.delete("ocw:workers")

    @contextmanager
    def raw_worker(self, *, concurrency: int, acks: bool = True) -> Iterator[psutil.Process]:
        argv = [sys.executable, "-m", "celery", "-A", "benchmarks.raw", "worker", "-Q", "raw", "-P", "threads"]
        options = ["-c", str(concurrency), "--without-gossip", "--without-mingle", "-l", "WARNING"]
        with self.process([*argv, *options], "raw", {"BENCH_ACKS": str(int(acks))}) as process:
            from benchmarks.raw import noop

            noop.delay().get(timeout=30)
            yield process

    @contextmanager
    def process(self, argv: list[str], name: str, env: Mapping[str, str] = NOTHING) -> Iterator[psutil.Process]:
        with (self.folder / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **env})
        try:
            yield psutil.Process(child.pid)
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(timeout=40)


@contextmanager
def stage(*, events: bool) -> Iterator[Stage]:
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="ocw-bench-"))
        redis = stack.enter_context(RedisServer(aof=True, directory=Path(name)))
        models = stack.enter_context(WireServer())
        config = Path(name) / "openclaw.yaml"
        config.write_text(json.dumps(_config(models, events=events)))
        os.environ |= {
            "REDIS_URL": redis.url,
            "OPENCLAW_STATE_DIR": name,
            "OPENCLAW_CONFIG": str(config),
            "BENCH_EVENTS": str(int(events)),
        }
        yield Stage(redis, models, CliContext(), Path(name))


def _config(models: WireServer, *, events: bool) -> dict[str, Any]:
    """The agent `main` uses the offline model; each API has an agent whose model is on the wire-level server."""
    providers = {
        name: {"baseUrl": _url(models, api), "api": api, "apiKey": "key", "models": [{"id": "m", **MODEL}]}
        for name, api in APIS.items()
    }
    agents = [{"id": "main"}, *({"id": name, "model": f"{name}/m"} for name in APIS)]
    defaults = {"model": "offline/script", "subagents": {"maxChildrenPerAgent": 20}}
    return {
        "messages": {"queue": {"mode": "followup", "cap": 1_000}},
        "models": {"providers": providers},
        "agents": {"defaults": defaults, "list": agents},
        "engine": {"taskEvents": events},
        "gateway": {"limits": {"requestsPerMinute": 10_000_000}},
    }


def _url(models: WireServer, api: str) -> str:
    return models.url if api == "anthropic-messages" else models.openai_url


def seconds(begun: float) -> float:
    return time.perf_counter() - begun
