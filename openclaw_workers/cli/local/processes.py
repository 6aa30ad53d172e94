"""Starts Redis, the workers, the ingress and Flower in order, and records their addresses and pids."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from openclaw_workers.cli.local import flower, ingress, private_redis, redis_start_errors, workers
from openclaw_workers.cli.local.child_spec import Starter
from openclaw_workers.cli.local.config_publisher import ConfigPublisher
from openclaw_workers.cli.local.console import Console
from openclaw_workers.cli.local.flower_refresh import FlowerRefresh
from openclaw_workers.cli.local.fork_server import NAME as FORK_SERVER
from openclaw_workers.cli.local.fork_server import ForkServer
from openclaw_workers.cli.local.redis_binary import find_redis_servers
from openclaw_workers.cli.local.redis_data_version import choose_server
from openclaw_workers.cli.local.saved_endpoint import SavedEndpoint, any_free_port
from openclaw_workers.cli.local.start_program import start_program
from openclaw_workers.cli.local.supervisor import StartFailure, Supervisor
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.runs import Lane
from openclaw_workers.engine.fleet_config import LOCAL_CONFIG_VARIABLE
from openclaw_workers.errors import StoreUnavailable, TransientError
from openclaw_workers.logs import SUPERVISED_VARIABLE
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.state_dir import RUNTIME_FILE, Runtime, read_runtime, write_runtime
from openclaw_workers.store.client import connect, store_errors
from openclaw_workers.store.keys import Keys

#: Redis needs a while to load a large append-only file.
REDIS_READY_SECONDS = 120.0
READY_SECONDS = 60.0
_PORT_ATTEMPTS = 3
#: The environment of Redis, without API keys.
_REDIS_ENV = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")


@dataclass(frozen=True, slots=True)
class UpPlan:
    """Everything `ocw up` needs to know before it starts processes."""

    state_dir: Path
    config_path: Path | None
    redis_url: str | None
    """A server that already runs; None starts a private one."""

    namespace: str
    concurrency: Mapping[Lane, int]
    grace_seconds: float
    with_flower: bool
    with_ingress: bool
    ingress_port: int
    is_port_fixed: bool
    """Whether somebody has configured the port: then no other one is taken."""
    task_events: bool
    forks: bool = False
    """Whether processes are forks of one. Only Linux lets a supervisor be the parent of what another process forked."""
    apis: tuple[str, ...] = ()
    """Those of the configured models, whose SDKs are loaded before workers are forked."""
    is_local_config: bool = False
    """Whether the processes use the file of this host, whatever is published."""


def require_answer(redis_url: str) -> None:
    """See that a named server answers.

    Raises:
        StoreUnavailable: it does not.
    """
    try:
        with store_errors(), connect(redis_url) as client:
            client.ping()
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error.message}, at {mask_secrets(redis_url)}",
            hint="check REDIS_URL and that server, or unset it to get a private Redis",
        ) from error


class LocalProcesses:
    """The children of one `ocw up`."""

    def __init__(
        self, plan: UpPlan, console: Console, env: Mapping[str, str], configuration: ConfigPublisher | None = None
    ) -> None:
        """`configuration` publishes the file of this host; None where another configuration is in force."""
        self._plan = plan
        self._configuration = configuration
        on_poll = configuration.look if configuration else lambda: None
        self.supervisor = Supervisor(console, on_change=self._update, on_poll=on_poll, adopts=plan.forks)
        # Workers come first. What the ingress and Flower need is imported when they are forked, after the workers.
        self._fork_server = ForkServer(workers.MODULES, plan.apis) if plan.forks else None
        self._start: Starter = self._fork_server.start if self._fork_server else start_program
        self._env = env
        self._flower: SavedEndpoint | None = None
        self._runtime: Runtime | None = None

    def start(self) -> Runtime | None:
        """Return once everything is ready; None if a stop was requested meanwhile.

        Raises:
            OpenClawError: a process did not start; the message says what to do.
        """
        runtime_path = self._plan.state_dir / RUNTIME_FILE
        if runtime_path.exists() and read_runtime(self._plan.state_dir) is None:
            self.supervisor.say(f"runtime.ignored path={runtime_path} why='it cannot be read'")
        if self._fork_server is not None:  # it imports while Redis loads its data
            self.supervisor.start(self._fork_server.spec(self._python_env(None)))
        redis_url = self._redis()
        if not self.supervisor.stop_requested:
            # Before the workers start: they load what is published.
            if self._configuration is not None:
                self._configuration.publish(redis_url, self.supervisor.say)
            self._wait_for_fork_server()
            self._python_processes(redis_url)
            if self._plan.with_flower and not self.supervisor.stop_requested:
                self._record(redis_url)  # workers answer while Flower starts
                self._flower_process(redis_url)
        if self.supervisor.stop_requested:
            return None
        return self._record(redis_url)

    def _record(self, redis_url: str) -> Runtime:
        """Tell other commands where everything is."""
        self._runtime = Runtime(
            pid=os.getpid(),
            redis_url=redis_url,
            flower_url=flower.url_of(self._flower) if self._flower else None,
            ingress_url=self._ingress_url(redis_url),
            source=self._plan.config_path,
            pids=self.supervisor.pids,
            started_at=now_ms(),
            # The grace period of the workers, then 5 s for Flower, 20 s for Redis, and some reserve.
            stop_seconds=self._plan.grace_seconds + 40,
        )
        write_runtime(self._plan.state_dir, self._runtime)
        return self._runtime

    def forget(self) -> None:
        """Remove the record, because nothing runs now."""
        self._runtime = None
        (self._plan.state_dir / RUNTIME_FILE).unlink(missing_ok=True)

    def _update(self) -> None:
        """Record the pids after a restart."""
        if self._runtime is not None:
            self._runtime = self._runtime.model_copy(update={"pids": self.supervisor.pids})
            write_runtime(self._plan.state_dir, self._runtime)

    def _redis(self) -> str:
        if self._plan.redis_url is not None:
            require_answer(self._plan.redis_url)
            return self._plan.redis_url
        binary = choose_server(self._plan.state_dir / "redis", find_redis_servers())
        path = self._plan.state_dir / "redis.json"
        endpoint = SavedEndpoint.load(path, default_port=private_redis.DEFAULT_PORT, user="default")
        env = {name: self._env[name] for name in _REDIS_ENV if name in self._env}
        # A free port can be taken between our look and the start, so another one is tried.
        for attempt in range(_PORT_ATTEMPTS):
            if attempt:
                endpoint = endpoint.at_port(path, any_free_port())
            spec = private_redis.redis_spec(binary, self._plan.state_dir, endpoint, env)
            self.supervisor.start(spec)
            failure = self.supervisor.wait_ready([spec.name], within_seconds=REDIS_READY_SECONDS)
            if failure is None:
                return private_redis.url_of(endpoint)
            if not private_redis.port_was_taken(failure.tail):
                break
            # Another process took the port after we had checked it.
            self.supervisor.drop(spec.name)
        assert failure is not None
        raise redis_start_errors.explain(failure.tail, self._plan.state_dir, binary, failure.why)

    def _wait_for_fork_server(self) -> None:
        """Go on without it if it does not start: children are then programs of their own."""
        if self._fork_server is None:
            return
        failure = self.supervisor.wait_ready([FORK_SERVER], within_seconds=READY_SECONDS)
        if failure is not None:
            self.supervisor.say(f"fork_server.not_used why={failure.why!r}")

    def _python_processes(self, redis_url: str) -> None:
        env = self._python_env(redis_url)
        probe = workers.registration_probe(redis_url, Keys(self._plan.namespace))
        names = []
        for lane, concurrency in self._plan.concurrency.items():
            spec = workers.worker_spec(
                lane,
                concurrency,
                env=env,
                is_ready=probe,
                grace_seconds=self._plan.grace_seconds,
                events=self._plan.task_events,
                start=self._start,
            )
            self.supervisor.start(spec)
            names.append(spec.name)
        if self._plan.with_ingress:
            self._start_ingress(env, redis_url)
            names.append(ingress.NAME)
        self._wait_until_ready(names, {ingress.NAME: lambda: self._start_ingress(env, redis_url)})

    def _flower_process(self, redis_url: str) -> None:
        """After the workers: it shows those that it finds when it starts, and later ones when it is told to look."""
        env = self._python_env(redis_url)
        self._start_flower(env)
        self._wait_until_ready([flower.NAME], {flower.NAME: lambda: self._start_flower(env)})
        assert self._flower is not None
        refresh = partial(flower.shown_queues, self._flower)
        FlowerRefresh(connect(redis_url), Keys(self._plan.namespace), refresh).start()

    def _wait_until_ready(self, names: Sequence[str], on_ports: Mapping[str, Callable[[], None]]) -> None:
        """`on_ports` start those that listen on a port, which another process may have taken since we looked."""
        for _ in range(_PORT_ATTEMPTS):
            failure = self.supervisor.wait_ready(names, within_seconds=READY_SECONDS)
            if failure is None:
                return
            if failure.name not in on_ports or not private_redis.port_was_taken(failure.tail):
                break
            self.supervisor.drop(failure.name)
            on_ports[failure.name]()
        raise self._not_started(failure)

    def _start_flower(self, env: Mapping[str, str]) -> None:
        path = self._plan.state_dir / "flower.json"
        self._flower = SavedEndpoint.load(path, default_port=flower.DEFAULT_PORT, user=flower.USER)
        self.supervisor.start(flower.flower_spec(self._flower, env, [*self._plan.concurrency], self._start))

    def _start_ingress(self, env: Mapping[str, str], redis_url: str) -> None:
        plan = self._plan
        port = ingress.choose_port(plan.state_dir, plan.ingress_port, is_fixed=plan.is_port_fixed)
        probe = ingress.serving_probe(redis_url, Keys(plan.namespace))
        self.supervisor.start(ingress.ingress_spec(port, env, probe, self._start))

    def _ingress_url(self, redis_url: str) -> str | None:
        pid = self.supervisor.pids.get(ingress.NAME)
        return ingress.url_of_pid(redis_url, Keys(self._plan.namespace), pid) if pid else None

    def _python_env(self, redis_url: str | None) -> dict[str, str]:
        """`redis_url`: None as long as it is not known."""
        # Through the environment, not the command line: the password must not show in `ps`.
        known = {"REDIS_URL": redis_url, "CELERY_BROKER_URL": redis_url} if redis_url else {}
        own = {
            **known,
            "OPENCLAW_STATE_DIR": str(self._plan.state_dir),
            "PYTHONUNBUFFERED": "1",
            SUPERVISED_VARIABLE: "1",
        }
        if self._plan.config_path is not None:
            own["OPENCLAW_CONFIG"] = str(self._plan.config_path)
        if self._plan.is_local_config:
            own[LOCAL_CONFIG_VARIABLE] = "1"
        return {**self._env, **own}

    def _not_started(self, failure: StartFailure | None) -> TransientError:
        assert failure is not None
        tail = "".join(f"\n    {line}" for line in failure.tail[-8:])
        return TransientError(
            f"{failure.name} did not start: {failure.why}{tail and '; its last lines:'}{tail}",
            hint=f"see {self._plan.state_dir / 'logs' / failure.name}.log",
        )
