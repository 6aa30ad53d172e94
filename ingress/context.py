"""What every part of the ingress is given: settings, stores and the engine's entry points. Built once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from redis.asyncio import Redis

from ingress.auth.authenticator import Authenticator
from ingress.events.fleet import FleetFeed
from ingress.events.hub_reader import HubReader
from ingress.events.session_events import Hub
from ingress.scripts import Scripts
from openclaw_workers.clock import now_ms
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.queue_waker import QueueWaker
from openclaw_workers.engine.routing.addressing import SessionRules, session_rules
from openclaw_workers.engine.stores import Stores
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.tree_queries import Trees

if TYPE_CHECKING:
    from ingress.channels.adapter import Adapter
    from openclaw_workers.tasks.waker import CeleryWaker

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class IngressContext:
    loaded: Loaded
    redis_url: str
    id: str
    stores: Stores
    waker: QueueWaker
    intake: Intake
    control: Control
    archives: ArchiveWriter
    browser_logins: BrowserLogins
    auth: Authenticator
    redis: Redis
    """For reads of the event loop; writes go through the stores."""
    hub: Hub
    """Events of single sessions."""
    scripts: Scripts
    """Runs scripts without a thread."""
    fleet: FleetFeed
    """Changes of the whole installation."""
    limiter: anyio.CapacityLimiter
    slow_limiter: anyio.CapacityLimiter
    celery: Callable[[], CeleryWaker]
    """Loads Celery, for what workers are asked and answer."""
    clock: Callable[[], int] = now_ms
    adapters: tuple[Adapter, ...] = ()
    """One for each account of each channel; receivers and senders share them."""

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def state_dir(self) -> Path:
        return self.loaded.state_dir

    @cached_property
    def overview(self) -> Overview:
        return Overview(self.stores.redis, self.stores.keys)

    @cached_property
    def trees(self) -> Trees:
        return Trees(self.stores.redis, self.stores.keys, self.stores.reader)

    @cached_property
    def session_rules(self) -> SessionRules:
        return session_rules(self.settings)

    def follow(self) -> HubReader:
        """A reader for one conversation; use it with `async with`."""
        seconds = self.settings.engine.accept_timeout_seconds
        return HubReader(self.hub, self.redis, self.stores.keys, timeout_seconds=seconds)

    def end_streams(self) -> None:
        """End every stream of events, because the process ends."""
        self.hub.close()
        self.fleet.close()

    async def call(self, act: Callable[..., T], *args: Any, **named: Any) -> T:
        """Run a blocking call of a store or of the engine in a thread, a bounded number at a time."""
        return await anyio.to_thread.run_sync(partial(act, *args, **named), limiter=self.limiter)

    async def call_slowly(self, act: Callable[..., T], *args: Any, **named: Any) -> T:
        """As `call`, for what asks a worker or a channel and may take seconds."""
        return await anyio.to_thread.run_sync(partial(act, *args, **named), limiter=self.slow_limiter)
