"""What every part of the ingress is given: settings, stores and the engine's doors. Built once per process."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from redis.asyncio import Redis

from ingress.auth.authenticator import Authenticator
from ingress.events.connect import connect_async, connect_reader, script_connection
from ingress.events.fleet import FleetFeed
from ingress.events.hub_reader import HubReader
from ingress.events.session_events import Hub
from ingress.scripts import Scripts
from openclaw_workers.clock import now_ms
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.config.secrets import secret_values
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.pairing import parse_subject
from openclaw_workers.domain.tokens import Token
from openclaw_workers.engine.access.person import PersonAuthority, authority_of_person
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.intake_graph import archives_of, control_of, intake_of
from openclaw_workers.engine.queue_waker import QueueWaker
from openclaw_workers.engine.routing.addressing import SessionRules, session_rules
from openclaw_workers.engine.stores import Stores, open_stores
from openclaw_workers.errors import BadInput
from openclaw_workers.redaction import protect
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.tree_queries import Trees

if TYPE_CHECKING:
    from ingress.channels.adapter import Adapter
    from openclaw_workers.tasks.waker import CeleryWaker

T = TypeVar("T")

SCRIPT_CONNECTIONS = 8
THREADS = 24
"""Store calls at a time. Each takes milliseconds; what waits for longer waits in the event loop."""
SLOW_THREADS = 4
"""Questions to workers and channels at a time, which may take seconds. They must not hold up store calls."""


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
    tokens: Tokens
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


def open_context(loaded: Loaded, redis_url: str) -> IngressContext:
    """Connects on first use, so this never fails by itself. Call it where an event loop runs."""
    protect(secret_values(loaded.settings))
    seconds = loaded.settings.engine.accept_timeout_seconds
    redis = connect_async(redis_url, timeout_seconds=seconds)
    stores = open_stores(loaded.settings, redis_url, max_connections=THREADS + SLOW_THREADS + 8)
    celery = cache(partial(_celery_waker, stores))
    waker = QueueWaker(stores.redis, stores.keys, celery)
    tokens = Tokens(stores.redis, stores.keys)
    limiter = anyio.CapacityLimiter(THREADS)
    archives = archives_of(stores, loaded)
    gateway = loaded.settings.gateway
    return IngressContext(
        loaded=loaded,
        redis_url=redis_url,
        id=f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(3)}",
        stores=stores,
        waker=waker,
        intake=intake_of(stores, waker),
        control=control_of(stores, waker, archives),
        archives=archives,
        tokens=tokens,
        auth=Authenticator(
            tokens,
            is_open=gateway.auth == "none",
            requests_per_minute=gateway.limits.requests_per_minute,
            limiter=limiter,
            authority_of_person=partial(_authority_of_person, stores),
        ),
        redis=redis,
        hub=Hub(connect_reader(redis_url, timeout_seconds=seconds), redis, stores.keys),
        scripts=Scripts(
            script_connection(redis_url, timeout_seconds=seconds),
            connections=SCRIPT_CONNECTIONS,
            timeout_seconds=seconds,
        ),
        fleet=FleetFeed(redis, stores.keys),
        limiter=limiter,
        slow_limiter=anyio.CapacityLimiter(SLOW_THREADS),
        celery=celery,
    )


def _authority_of_person(stores: Stores, token: Token) -> PersonAuthority | None:
    agent = token.agent or default_agent_id(stores.settings)
    try:
        return authority_of_person(stores.settings, stores.pairings, parse_subject(token.person or ""), agent)
    except BadInput:
        return None


def _celery_waker(stores: Stores) -> CeleryWaker:
    """For an installation whose workers have not kept the form of their messages yet, and for their answers."""
    from openclaw_workers.tasks.app import app  # noqa: PLC0415
    from openclaw_workers.tasks.waker import CeleryWaker  # noqa: PLC0415

    return CeleryWaker(app, stores.redis, stores.keys.namespace, stores.places.route)
