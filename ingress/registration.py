"""Tells the fleet that this ingress process serves, and where."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import structlog

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.ingresses import BEAT_SECONDS, Ingresses

if TYPE_CHECKING:
    from ingress.context import IngressContext

log = structlog.get_logger(__name__)


class Registration:
    def __init__(self, context: IngressContext, url: str, on_config: Callable[[str], Awaitable[None]]) -> None:
        """`on_config` gets the id of a configuration in force that is not the one in use."""
        self._context = context
        self._on_config = on_config
        self._config = context.loaded.version
        self._store = Ingresses(context.stores.redis, context.stores.keys)
        self._facts = {
            "host": socket.gethostname(),
            "pid": str(os.getpid()),
            "url": url,
            "started_at": str(context.clock()),
            "config": context.loaded.version,
        }

    async def run(self) -> None:
        while True:
            try:
                config = await self._context.call(self._store.beat, self._context.id, self._facts)
                # One that uses its own file has no version.
                if config and self._config and config != self._config:
                    self._config = config
                    await self._on_config(config)
            except StoreUnavailable as error:
                log.warning("ingress.unregistered", error=error.message)
            await asyncio.sleep(BEAT_SECONDS)

    async def leave(self) -> None:
        try:
            await self._context.call(self._store.leave, self._context.id)
        except StoreUnavailable as error:
            log.warning("ingress.left_unnoticed", error=error.message)
