"""The ingress process: the HTTP server, the channels and the senders in one event loop."""

from __future__ import annotations

import asyncio

import uvicorn

from ingress import channels, delivery
from ingress.app import build_app
from ingress.context import IngressContext, open_context
from ingress.services import keep_running
from openclaw_workers.config.loader import Loaded

STOP_SECONDS = 5


def run(loaded: Loaded, redis_url: str) -> None:
    """Serve until SIGTERM or SIGINT."""
    asyncio.run(serve(open_context(loaded, redis_url)))


async def serve(context: IngressContext) -> None:
    gateway = context.settings.gateway
    config = uvicorn.Config(
        build_app(context),
        host=gateway.address,
        port=gateway.port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=gateway.limits.connections,
        timeout_keep_alive=int(gateway.limits.idle_seconds) or 1,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    services = [service for part in (channels, delivery) for service in part.services(context)]
    tasks = [asyncio.create_task(keep_running(service)) for service in services]
    try:
        await uvicorn.Server(config).serve()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
