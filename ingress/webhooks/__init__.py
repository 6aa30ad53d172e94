"""Webhooks: other programs start turns, or tell a session that something happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingress.webhooks.routes import hook_routes

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ingress.context import IngressContext


def routes(context: IngressContext) -> list[BaseRoute]:
    return hook_routes(context)
