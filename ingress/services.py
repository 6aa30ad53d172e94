"""What runs beside the HTTP server: readers, adapters and senders. One that fails is started again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

log = structlog.get_logger(__name__)

FIRST_SECONDS = 0.5
CEILING_SECONDS = 30.0
HEALTHY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    run: Callable[[], Awaitable[None]]
    """Runs until it is cancelled; returning is a failure too."""


async def keep_running(service: Service) -> None:
    """Run a service, and start it again with growing delays when it fails."""
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        began = loop.time()
        try:
            await service.run()
            why = "it returned"
        except Exception as error:  # noqa: BLE001 - one part must not end the others
            why = repr(error)
        failures = 1 if loop.time() - began > HEALTHY_SECONDS else failures + 1
        delay = min(CEILING_SECONDS, FIRST_SECONDS * 2.0 ** (failures - 1))
        log.error("service.failed", service=service.name, error=why, restartInSeconds=delay)
        await asyncio.sleep(delay)
