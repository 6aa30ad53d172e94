"""The composition root of the ingress: opens the stores and builds what its parts are given."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache, partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ingress.auth.authenticator import Authenticator
from ingress.context import IngressContext
from ingress.events.connect import connect_async, connect_reader, script_connection
from ingress.events.fleet import FleetFeed
from ingress.events.session_events import Hub
from ingress.scripts import Scripts
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.config.tool_secrets import secret_values
from openclaw_workers.domain.pairing import parse_subject
from openclaw_workers.domain.tokens import Token
from openclaw_workers.engine.access.person import PersonAuthority, authority_of_person
from openclaw_workers.engine.intake_graph import archives_of, control_of, intake_of
from openclaw_workers.engine.queue_waker import QueueWaker
from openclaw_workers.engine.stores import Stores, open_stores
from openclaw_workers.errors import BadInput
from openclaw_workers.redaction import protect

if TYPE_CHECKING:
    from openclaw_workers.tasks.waker import CeleryWaker

SCRIPT_CONNECTIONS = 8
THREADS = 24
"""Store calls at a time. Each takes milliseconds; what waits for longer waits in the event loop."""
SLOW_THREADS = 4
"""Questions to workers and channels at a time, which may take seconds. They must not hold up store calls."""


def open_context(loaded: Loaded, redis_url: str) -> IngressContext:
    """Connects on first use, so this never fails by itself. Call it where an event loop runs."""
    protect(secret_values(loaded.settings))
    seconds = loaded.settings.engine.accept_timeout_seconds
    redis = connect_async(redis_url, timeout_seconds=seconds)
    stores = open_stores(loaded.settings, redis_url, max_connections=THREADS + SLOW_THREADS + 8)
    celery = cache(partial(_celery_waker, stores))
    waker = QueueWaker(stores.redis, stores.keys, celery)
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
        browser_logins=stores.browser_logins,
        auth=Authenticator(
            stores.tokens,
            stores.browser_logins,
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
