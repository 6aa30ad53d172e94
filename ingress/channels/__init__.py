"""Services of `channels`, which run beside the HTTP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingress.context import IngressContext
    from ingress.services import Service


def services(context: IngressContext) -> list[Service]:
    return []
