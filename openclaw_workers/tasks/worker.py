"""A worker process: its stores, engine, ticker and sweeper. Built after any fork."""

from __future__ import annotations

import gc
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from openclaw_workers.clock import now_ms
from openclaw_workers.config.configured_models import configured_models
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import default_model, placed_workspaces
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane
from openclaw_workers.engine.memory.session_notes import SessionNotes
from openclaw_workers.engine.metrics.exporter import exporter_of
from openclaw_workers.engine.moves.mover import Mover
from openclaw_workers.engine.place_service import PlaceService
from openclaw_workers.engine.sandbox.report import SandboxReports
from openclaw_workers.engine.skills.report import SkillReports
from openclaw_workers.engine.stores import Stores, open_stores, stores_on
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.turn.agent_frame import AgentFrames
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.turn.tool_report import ToolReports
from openclaw_workers.engine.worker.config_follower import ConfigFollower, Following
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.engine.worker.report import WorkerReport
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.engine.worker.ticker import Ticker
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.providers.registry import Providers
from openclaw_workers.store.metrics import Metrics
from openclaw_workers.store.wake_messages import WakeMessages
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.configuration import first_configuration, newest_configuration, without_secrets
from openclaw_workers.tasks.lane_consumer import LaneConsumer
from openclaw_workers.tasks.settings import is_local, loaded, redis_url
from openclaw_workers.tasks.waker import CeleryWaker
from openclaw_workers.tools.catalog import reserved_names
from openclaw_workers.tools.mcp.servers import McpServers
from openclaw_workers.tools.plugins.load import NO_PLUGINS, Plugins, load_plugins

log = structlog.get_logger(__name__)

EXIT_STUCK = 70
EXIT_GRACE_OVER = 75
PASS_ON_SECONDS = 0.2


def load_models(settings: Settings) -> None:
    """Load the SDKs of the configured models now: loading them in the first turn would delay all turns for seconds."""
    began = time.monotonic()
    names = configured_models(settings, default_model(settings, os.environ))
    Providers(settings.models).warm_up(names)
    log.info("models.loaded", models=len(names), seconds=round(time.monotonic() - began, 1))


def load_configured_plugins() -> Plugins:
    """Import the plugins now, before any fork and before the first turn."""
    began = time.monotonic()
    plugins = load_plugins(loaded().settings.plugins, reserved_names())
    if plugins.all:
        seconds = round(time.monotonic() - began, 1)
        log.info("plugins.loaded", plugins=len(plugins.all), tools=len(plugins.tools), seconds=seconds)
    return plugins


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What `ocw status` shows of a worker."""

    lane: str
    concurrency: int
    pool: str
    asked_to_leave: Callable[[], bool] = lambda: False
    """How a pool child learns that its parent is shutting down."""
    on_drained: Callable[[bool], None] = lambda _: None
    """Called when the worker is drained or undrained: whoever consumes must stop or start."""
    on_places: Callable[[Sequence[str]], None] = lambda _: None
    """Called with each tick, with the places that have a queue of their own that this worker consumes."""
    plugins: Plugins = NO_PLUGINS

    def as_fields(self, worker_id: WorkerId) -> dict[str, str]:
        host, pid, _ = worker_id.rsplit("/", 2)
        return {"host": host, "pid": pid, "lane": self.lane, "concurrency": str(self.concurrency), "pool": self.pool}


class Worker:
    """One worker process. It uses the objects of one configuration at a time; turns keep those they began with."""

    def __init__(self, facts: WorkerFacts, nodename: str = "") -> None:
        configured = loaded()
        settings = configured.settings
        self.id = WorkerId(f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(3)}")
        self._lanes = facts.lane.split(",")
        stores = open_stores(settings, redis_url(), max_connections=facts.concurrency + 16)
        self._redis = stores.redis
        self._workers = stores.workers
        self._process = WorkerState(grace_seconds=settings.engine.grace_seconds, has_parent=facts.pool == "prefork")
        self._places = HostPlaces(placed_workspaces(settings, configured.state_dir))
        self._waker = CeleryWaker(app, stores.redis, settings.engine.namespace, self._places.route)
        self._wake_messages = WakeMessages(stores.redis, stores.keys)
        self._sweep_wanted = threading.Event()
        self._plugins = facts.plugins
        self._mcp = McpServers(settings.mcp)
        self._engine = self._build(configured, stores)
        self.reader = stores.reader
        self._sweeper = self._engine.sweeper
        self._finished_commands = self._engine.finished_commands
        self._exporter = exporter_of(settings.metrics, Metrics(stores.redis, stores.keys), stores.workers)
        self._place_service: PlaceService | None = None
        self._mover = Mover(stores.moves, self._places, socket.gethostname())
        self._consumer = LaneConsumer(app, nodename, [lane for lane in self._lanes if lane != Lane.SERVICE])
        self.config = ConfigFollower(
            first_configuration(),
            load=lambda: newest_configuration(stores.redis, settings),
            use=self._use,
            turn_away=self._consumer.turn_away,
            without=without_secrets(),
            is_local=is_local(),
        )
        state = {"started_at": str(now_ms()), "state": self._engine.archives.place_id}
        fields = {**facts.as_fields(self.id), **state}
        parts = {"plugins": facts.plugins.report, "mcp": self._mcp.report}
        report = WorkerReport(parts, lambda texts: stores.workers.send_report(self.id, texts))

        def fields_of_tick() -> dict[str, str]:
            report.send_if_due()
            return {**fields, **self.config.facts(), "cannot_serve": " ".join(self._places.elsewhere())}

        self._ticker = Ticker(
            stores.leases,
            self._process,
            self.id,
            fields_of_tick,
            asked_to_leave=facts.asked_to_leave,
            on_drained=facts.on_drained,
            secrets=self.config.secrets,
            on_config=self.config.noticed,
            places=self._places,
            takes_turns=lambda: self._lanes != [Lane.SERVICE] and not self.config.refusal,
            on_moves=self._mover.noticed if Lane.SERVICE in self._lanes else lambda _: None,
            on_places=lambda seen: facts.on_places(() if self.config.refusal else seen),
            on_stuck=lambda: self._exit_hard(EXIT_STUCK),
            on_overdue=lambda: self._exit_hard(EXIT_GRACE_OVER),
            period_seconds=min(1.0, settings.engine.lease_seconds / 4),
        )

    @property
    def runner(self) -> TurnRunner:
        return self._engine.runner

    @property
    def frames(self) -> AgentFrames:
        return self._engine.frames

    @property
    def sandbox_reports(self) -> SandboxReports:
        return self._engine.sandbox_reports

    @property
    def skill_reports(self) -> SkillReports:
        return self._engine.skill_reports

    @property
    def tool_reports(self) -> ToolReports:
        return self._engine.tool_reports

    @property
    def announcer(self) -> Announcer:
        return self._engine.announcer

    @property
    def session_notes(self) -> SessionNotes:
        return self._engine.session_notes

    def pass_on(self, session: SessionKey, run: RunId) -> None:
        """Leave a turn to another worker, because this one takes none."""
        time.sleep(PASS_ON_SECONDS)  # it may come back before Celery has stopped to consume
        self._waker.turn(session, run)

    def _build(self, configured: Loaded, stores: Stores) -> WorkerEngine:
        return WorkerEngine(
            configured,
            stores,
            self._waker,
            self._process,
            self.id,
            default_model=default_model(configured.settings, os.environ),
            sweep_wanted=self._sweep_wanted,
            plugins=self._plugins,
            mcp=self._mcp,
            host_places=self._places,
        )

    def _use(self, following: Following) -> None:
        """Switch to another version of the configuration: from the next turn and the next sweep on."""
        settings = following.loaded.settings
        if self._lanes != [Lane.SERVICE]:
            load_models(settings)
        self._places.use(placed_workspaces(settings, following.loaded.state_dir))
        engine = self._build(following.loaded, stores_on(self._redis, settings))
        engine.runner  # noqa: B018 - built now, so that the next turn does not wait for it
        self._sweeper.use(engine.due_kinds)
        self._engine = engine
        if self._place_service is not None:
            self._place_service.stop()
            self._serve_place()

    def start(self) -> None:
        if self._lanes == [Lane.SUBAGENT]:
            # Threads that start from now on inherit it. A pool's child has it from its parent already.
            wanted = self._engine.loaded.settings.lanes.subagent.niceness
            os.setpriority(os.PRIO_PROCESS, 0, max(wanted, os.getpriority(os.PRIO_PROCESS, 0)))
        # Our threads mostly wait for the network, which releases the interpreter. Forcing a busy one to yield every
        # 5 ms only costs time: 20 ms saves a sixth of the processor time of short turns.
        sys.setswitchinterval(0.02)
        # Objects made so far live as long as the process. Collecting them again and again takes a tenth of the
        # processor time of short turns.
        gc.collect()
        gc.freeze()
        self._keep_blanks()
        if not self._process.has_parent:  # the parent of a pool waits only seconds for a child
            self._ticker.tick()  # before the first turn it must be known whether this worker takes any
        self._ticker.start()
        self._sweeper.start()
        self._finished_commands.start()
        if self._lanes != [Lane.SERVICE]:
            self._mcp.start()
        if Lane.SERVICE in self._lanes:
            self._serve_place()
        if self._exporter is not None:
            self._exporter.start()
        log.info("worker.started", worker=self.id)

    def _serve_place(self) -> None:
        self._place_service = self._engine.place_service
        self._place_service.start()

    def _keep_blanks(self) -> None:
        try:
            self._wake_messages.keep(self._waker.templates())
        except StoreUnavailable as error:  # clients use older ones, or load Celery
            log.warning("worker.blanks_not_kept", error=error.message)

    def leave(self) -> None:
        """Hand turns over and exit within the grace. Safe in a signal handler: takes no lock, starts no thread."""
        self._process.shutdown.begin()

    def stop(self) -> None:
        self._sweeper.stop()
        self._finished_commands.stop()
        self._mover.stop()
        if self._place_service is not None:
            self._place_service.stop()
        self._ticker.stop()
        if self._exporter is not None:
            self._exporter.stop()
        self._mcp.stop()
        try:
            self._workers.leave(self.id)
        except StoreUnavailable as error:
            log.warning("worker.leave_failed", error=error.message)

    def _exit_hard(self, code: int) -> None:
        log.error("worker.exited_hard", code=code, runs=[handle.lease.run for handle in self._process.runs()])
        os._exit(code)
