"""Tells the fleet that this ingress process serves, and where."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

import structlog

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.ingresses import BEAT_SECONDS, Ingresses

if TYPE_CHECKING:
    from ingress.context import IngressContext

log = structlog.get_logger(__name__)


class Registration:
    def __init__(self, context: IngressContext, url: str) -> None:
        self._context = context
        self._store = Ingresses(context.stores.redis, context.stores.keys)
        self._facts = {
            "host": socket.gethostname(),
            "pid": str(os.getpid()),
            "url": url,
            "started_at": str(context.clock()),
        }

    async def run(self) -> None:
        while True:
            try:
                await self._context.call(self._store.beat, self._context.id, self._facts)
            except StoreUnavailable as error:
                log.warning("ingress.unregistered", error=error.message)
            await asyncio.sleep(BEAT_SECONDS)

    async def leave(self) -> None:
        try:
            await self._context.call(self._store.leave, self._context.id)
        except StoreUnavailable as error:
            log.warning("ingress.left_unnoticed", error=error.message)
