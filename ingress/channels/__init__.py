"""Chat channels: one package per channel, each behind the contract in `adapter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ingress.context import IngressContext
    from ingress.services import Service


def services(context: IngressContext) -> list[Service]:
    """One service for each account: it receives."""
    from ingress.services import Service  # noqa: PLC0415

    return [Service(f"{each.channel}:{each.account_id}", each.run) for each in context.adapters]


def routes(context: IngressContext) -> list[BaseRoute]:
    """What adapters serve over HTTP, such as webhooks."""
    from ingress.channels.adapter import ServesHttp  # noqa: PLC0415

    return [route for each in context.adapters if isinstance(each, ServesHttp) for route in each.routes()]
