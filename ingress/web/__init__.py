"""Routes of `web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ingress.context import IngressContext


def routes(context: IngressContext) -> list[BaseRoute]:
    return []
