"""The HTTP API under `/api/v1`, its OpenAPI document, and that document as a page."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ingress.api.dispatch import routes_of
from ingress.api.docs_page import page
from ingress.api.endpoints import ENDPOINTS
from ingress.api.openapi import document
from ingress.api.table import PREFIX

if TYPE_CHECKING:
    from ingress.context import IngressContext


POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


@cache
def openapi() -> dict[str, Any]:
    return document(ENDPOINTS)


async def _openapi(_: Request) -> Response:
    return JSONResponse(openapi())


async def _docs(_: Request) -> Response:
    return HTMLResponse(page(openapi()), headers={"Content-Security-Policy": POLICY})


def routes(context: IngressContext) -> list[BaseRoute]:
    return [
        *routes_of(ENDPOINTS, context),
        Route(f"{PREFIX}/openapi.json", _openapi),
        Route(f"{PREFIX}/docs", _docs),
    ]
