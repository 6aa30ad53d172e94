"""`/healthz`: this process serves. `/readyz`: Redis answers, and every lane has a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from openclaw_workers.domain.runs import WORKER_LANES, Lane
from openclaw_workers.errors import StoreUnavailable

if TYPE_CHECKING:
    from ingress.context import IngressContext
    from openclaw_workers.domain.worker_info import WorkerInfo


def routes(context: IngressContext) -> list[BaseRoute]:
    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        try:
            workers = await context.call(context.stores.workers.all)
        except StoreUnavailable as error:
            return _ready({"redis": error.message})
        return _ready({f"lane {lane}": "no worker" for lane in WORKER_LANES if not _serves(workers, lane)})

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


def _serves(workers: list[WorkerInfo], lane: Lane) -> bool:
    return any(info.alive and lane in info.facts.get("lane", "").split(",") for info in workers)


def _ready(missing: dict[str, str]) -> Response:
    return JSONResponse({"ready": not missing, "missing": missing}, status_code=503 if missing else 200)
