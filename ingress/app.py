"""The ASGI application: the routes of every part, and errors as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from ingress import adapters, api, health, login, openai, web, webhooks
from ingress.errors import on_bug, on_http_exception, on_known_error
from ingress.server.guard import Guard
from ingress.server.hosts import hosts_of
from openclaw_workers.errors import OpenClawError

if TYPE_CHECKING:
    from ingress.context import IngressContext

PARTS = (api, openai, webhooks, adapters, health, login, web)
"""Each has `routes(context)`; the first match serves a request, so that what is asked for most comes first."""


def build_app(context: IngressContext) -> Starlette:
    gateway = context.settings.gateway
    return Starlette(
        routes=[route for part in PARTS for route in part.routes(context)],
        middleware=[
            Middleware(Guard, hosts=hosts_of(gateway), most_body_bytes=gateway.limits.body),
        ],
        exception_handlers={OpenClawError: on_known_error, HTTPException: on_http_exception, Exception: on_bug},
    )
