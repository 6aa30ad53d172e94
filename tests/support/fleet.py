"""A fleet of real worker processes with its own Redis, and ways to kill, pause and restart each of them."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import yaml
from celery import Celery

from openclaw_workers.config.host import find_host
from openclaw_workers.config.loader import load_file
from openclaw_workers.config.publication import draft
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import Authority, MessageState, Route
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.engine.client_graph import control_of, intake_of
from openclaw_workers.engine.fleet_config import configs_of, publish
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.tasks.settings import forget
from openclaw_workers.tasks.waker import CeleryWaker
from tests.support.programs import Program, as_text
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually
from tests.support.warm import WarmProcess

OCW = [sys.executable, "-c", "from openclaw_workers.cli.main import main; main()"]
IGNORES_TICKS = str(Path(__file__).parent / "ignores_ticks")
UNSETTLED = (MessageState.ACCEPTED, MessageState.BOUND)

# Quick enough for tests, slow enough that a busy machine does not lose leases by itself.
ENGINE = {"leaseSeconds": 2.0, "sweepSeconds": 0.2, "graceSeconds": 5.0, "namespace": "t"}
EXEC = {"backgroundMs": 120_000}
"""A command that keeps a turn busy does not go into the background."""

LANES = {"subagent": {"niceness": 0}}
"""Many tests run at a time; none is to wait for the others."""

QUEUE = {"mode": "followup", "debounceMs": 100, "cap": 1000}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one message ended: its receipt, and the run that settled it if there was one."""

    receipt: Receipt
    run: Run | None

    @property
    def text(self) -> str:
        assert self.run is not None, self.receipt
        return self.run.text or ""


class LosingWaker(CeleryWaker):
    """Publishes no turn, as if the broker were away or had lost the message."""

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        return False

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        return ""


class WorkerProcess:
    """One `ocw worker` in its own process group."""

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        *,
        respawn: bool,
        prefix: Sequence[str] = (),
    ) -> None:
        """`prefix`: a command that runs the worker in its place, such as one that enters a namespace."""
        self._argv, self._env, self._cwd, self.log = argv, dict(env), cwd, log
        self._prefix = prefix
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._process = self._spawn()
        self.respawns = 0
        if respawn:
            threading.Thread(target=self._keep_alive, name="respawn", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL the whole group: the worker and, with prefork, its children."""
        self._signal_group(signal.SIGKILL)

    def pause(self) -> None:
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_group(signal.SIGCONT)

    def term(self) -> None:
        """Send SIGTERM, as a deploy does."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def wait(self, within: float = 30) -> int:
        """Wait until it has ended and return its exit code."""
        return self._process.wait(within)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def fenced(self) -> int:
        """How many turns it gave up because their lease was gone."""
        return self.log_text().count("run.fenced")

    def finished(self) -> int:
        """How many turns it has finished or given up."""
        return self.fenced() + self.log_text().count("run.ended")

    def close(self) -> None:
        with self._lock:
            self._closing.set()
        self._signal_group(signal.SIGCONT)
        self.kill()
        self._process.wait()

    def _spawn(self) -> subprocess.Popen[bytes] | WarmProcess:
        with self.log.open("ab") as log, open(os.devnull, "rb") as nothing:
            if self._env.get("PYTHONPATH") == os.environ.get("PYTHONPATH") and not self._prefix:
                return WarmProcess(self._argv, env=self._env, cwd=self._cwd, files=[nothing, log, log])
            argv = [*self._prefix, *OCW, *self._argv]
            return subprocess.Popen(argv, env=self._env, cwd=self._cwd, stdout=log, stderr=log, start_new_session=True)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _keep_alive(self) -> None:
        while True:
            self._process.wait()
            # A killed prefork parent leaves children behind; they must not run beside its successor.
            self.kill()
            with self._lock:
                if self._closing.is_set():
                    return
                self._process = self._spawn()
                self.respawns += 1


class Fleet:
    """Redis, a configuration, and the workers a test starts. All of them end with the `with` block."""

    def __init__(
        self,
        directory: Path,
        config: Mapping[str, Any] | None = None,
        *,
        defaults: bool = False,
        addresses: Sequence[str] = ("127.0.0.1",),
    ) -> None:
        """`config` is merged over short test timings, or over nothing with `defaults`; Redis has these `addresses`."""
        self.directory = directory
        self.state_dir = directory / "state"
        self.state_dir.mkdir(parents=True)
        self.config_path = self.state_dir / "openclaw.yaml"
        base: dict[str, Any] = {"agents": {"defaults": {"model": "offline/script"}}}
        if not defaults:
            base |= {"engine": ENGINE, "messages": {"queue": QUEUE}, "tools": {"exec": EXEC}, "lanes": LANES}
        self.config_path.write_text(yaml.safe_dump(_merged(base, config or {})))
        self.workers: list[WorkerProcess] = []
        self.redis_server = RedisServer(aof=True, addresses=addresses)

    def __enter__(self) -> Self:
        self.redis_server.start()
        host = find_host(self.config_path, env=self.environment(), state_dir=self.state_dir)
        configured = load_file(host, allows_unset=True)
        self.settings = configured.settings
        self.stores = open_stores(self.settings, self.redis_server.url)
        self._app = self._celery_app()
        self.waker = CeleryWaker(self._app, self.stores.redis, self.settings.engine.namespace)
        self._losing_waker = LosingWaker(self._app, self.stores.redis, self.settings.engine.namespace)
        self.intake = intake_of(self.stores, self.waker)
        self.control = control_of(self.stores, self.waker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.close()
        self._app.close()
        self.stores.redis.close()
        self.redis_server.close()

    def apply_config(self) -> None:
        """Publish the file as it is now, as `ocw config apply` does."""
        host = find_host(self.config_path, env=self.environment(), state_dir=self.state_dir)
        publish(configs_of(host, self.stores.redis), draft(host))

    @property
    def workspace(self) -> Path:
        return self.state_dir / "workspace"

    @property
    def queue_key(self) -> str:
        """The broker's list of the main lane."""
        return f"{self.settings.engine.namespace}:celery:main"

    def worker(
        self,
        lane: str = "main",
        *,
        concurrency: int = 4,
        pool: str = "threads",
        respawn: bool = False,
        ignores_ticks: bool = False,
        loglevel: str = "INFO",
        wait: bool = True,
        options: Sequence[str] = (),
        state_dir: Path | None = None,
        **env: str,
    ) -> WorkerProcess:
        """Start `ocw worker`; returns when it consumes, or at once without `wait`.

        With `ignores_ticks` its ticker never reports a lost lease: only the checks of the scripts stop it. With
        another `state_dir` it works as one on another host does.
        """
        if ignores_ticks:
            env["PYTHONPATH"] = os.pathsep.join([IGNORES_TICKS, *filter(None, [os.environ.get("PYTHONPATH")])])
        place = state_dir or self.state_dir
        argv = ["--config", str(self.config_path), "--state-dir", str(place), "worker", "--lane", lane]
        argv += ["--concurrency", str(concurrency), "--pool", pool, "--loglevel", loglevel, *options]
        log = self.directory / f"worker-{len(self.workers) + 1}.log"
        worker = WorkerProcess(argv, {**self.environment(), **env}, self.state_dir, log, respawn=respawn)
        self.workers.append(worker)
        if wait:
            self.ready(worker)
        return worker

    def ready(self, *workers: WorkerProcess, within: float = 60) -> None:
        """Wait until each worker is registered and consumes."""
        for worker in workers:
            eventually(lambda worker=worker: self._is_ready(worker), within=within)  # type: ignore[misc]

    def send(
        self,
        message: str | Program,
        session: str = "main",
        *,
        lose_wake_up: bool = False,
        message_id: str | None = None,
        model: str | None = None,
        authority: Authority = Authority.OWNER,
        route: Route | None = None,
    ) -> Queued:
        """Accept a message as an ingress does."""
        intake = intake_of(self.stores, self._losing_waker) if lose_wake_up else self.intake
        queued = intake.accept(
            as_text(message),
            session=session_key(session),
            route=route or Route(channel="test", to=session),
            authority=authority,
            message_id=MessageId(message_id) if message_id else None,
            model=model,
        )
        assert isinstance(queued, Queued), queued
        return queued

    def command(self, text: str, session: str = "main") -> None:
        """Run a slash command that acts at once, such as `/queue steer`."""
        self.intake.accept(
            text, session=session_key(session), route=Route(channel="test", to=session), authority=Authority.OWNER
        )

    def tell_workers(self, command: str, **arguments: Any) -> list[Any]:
        """Send a remote control command, as Flower and `celery control` do; returns the reply of each worker.

        A worker subscribes to commands a moment after it says that it is ready.
        """
        running = [worker for worker in self.workers if worker.is_running()]
        eventually(lambda: self._listeners() >= len(running), within=30)
        replies = self._app.control.broadcast(command, arguments=arguments, reply=True, timeout=10, limit=len(running))
        return [answer for reply in replies or [] for answer in reply.values()]

    def _listeners(self) -> int:
        """How many processes are subscribed to remote control commands."""
        return sum(int(client["psub"]) > 0 for client in self.stores.redis.client_list())

    @property
    def celery(self) -> Celery:
        """A client's application on the same broker."""
        return self._app

    def consumed_queues(self) -> set[str]:
        """The queues that workers fetch messages from."""
        replies = self.tell_workers("active_queues")
        return {queue["name"] for queues in replies for queue in queues}

    def receipt(self, queued: Queued) -> Receipt:
        receipt = self.stores.inbox.receipt(queued.session_key, queued.message_id)
        assert receipt is not None, f"accepted message {queued.message_id} left no receipt"
        return receipt

    def outcome(self, queued: Queued, *, within: float = 30) -> Outcome:
        """Wait until the message is settled."""
        receipt = eventually(lambda: _settled(self.receipt(queued)), within=within)
        return Outcome(receipt, self.stores.reader.run(receipt.run) if receipt.run else None)

    def outcomes(self, sent: Iterable[Queued], *, within: float = 60) -> list[Outcome]:
        return [self.outcome(queued, within=within) for queued in sent]

    def carrier(self, session: str = "main") -> WorkerProcess:
        """Wait until a worker owns the session, and return it."""
        return eventually(lambda: self._carrier(session), within=30)

    def carries(self, worker: WorkerProcess) -> int:
        """How many turns a worker owns now."""
        owners = [self.stores.reader.control(session).owner for session in self.stores.reader.running()]
        return sum(_group_of(int(owner.rsplit("/", 2)[1])) == worker.pid for owner in owners if owner)

    def carried(self, run: Run) -> list[int | None]:
        """The processes that owned a run, in order."""
        return [_group_of(int(attempt.worker.rsplit("/", 2)[1])) for attempt in run.attempts]

    def run(self, run_id: RunId | None) -> Run:
        assert run_id is not None, "the message opened no run of its own"
        run = self.stores.reader.run(run_id)
        assert run is not None, f"no record of {run_id}"
        return run

    def runs(self) -> list[Run]:
        return self.stores.reader.runs(limit=100_000)

    def transcript(self, session: str = "main") -> list[TranscriptEntry]:
        return self.stores.reader.transcript(session_key(session))

    def events(self, session: str = "main", kind: str | None = None) -> list[Event]:
        found = self.stores.reader.events(session_key(session), "0", count=5000)
        return [event for event in found if kind is None or event.type == kind]

    def count(self, path: str) -> int:
        """How many lines `programs.mark` has left in a file of the workspace."""
        file = self.workspace / path
        return len(file.read_text().splitlines()) if file.exists() else 0

    def logs(self) -> str:
        return "\n".join(f"--- {worker.log.name}\n{worker.log_text()}" for worker in self.workers)

    def _carrier(self, session: str) -> WorkerProcess | None:
        owner = self.stores.reader.control(session_key(session)).owner
        group = _group_of(int(owner.rsplit("/", 2)[1])) if owner else None
        return next((worker for worker in self.workers if worker.pid == group), None)

    def _is_ready(self, worker: WorkerProcess) -> bool:
        assert worker.is_running(), f"the worker ended by itself:\n{worker.log_text()}"
        return "worker.ready" in worker.log_text() and self._is_registered(worker)

    def _is_registered(self, worker: WorkerProcess) -> bool:
        names = [str(name) for name in self.stores.redis.zrange(self.stores.keys.workers, 0, -1)]
        return any(_group_of(int(name.rsplit("/", 2)[1])) == worker.pid for name in names)

    def environment(self) -> dict[str, str]:
        """Our environment, without the API keys and addresses of the person who runs the tests."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("OPENCLAW_") and not name.endswith(("_API_KEY", "_BOT_TOKEN", "_URL"))
        }
        return {
            **kept,
            "OPENCLAW_CONFIG": str(self.config_path),
            "OPENCLAW_STATE_DIR": str(self.state_dir),
            "REDIS_URL": self.redis_server.url,
        }

    def _celery_app(self) -> Celery:
        """A client with the real Celery settings, read under this fleet's configuration."""
        with patch.dict(os.environ, self.environment(), clear=True), _fresh_settings():
            settings = runpy.run_module("openclaw_workers.tasks.celery_settings")
        app = Celery("openclaw-tests", set_as_current=False)
        app.conf.update({name: value for name, value in settings.items() if name.islower() and name[0] != "_"})
        return app


@contextmanager
def _fresh_settings() -> Iterator[None]:
    forget()
    try:
        yield
    finally:
        forget()


def session_key(name: str) -> SessionKey:
    return SessionKey(name if name.startswith("agent:") else f"agent:main:{name}")


def _settled(receipt: Receipt) -> Receipt | None:
    return None if receipt.state in UNSETTLED else receipt


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged
