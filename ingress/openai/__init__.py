"""The API of OpenAI's chat completions, so that its clients talk to agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingress.openai.routes import openai_routes

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ingress.context import IngressContext


def routes(context: IngressContext) -> list[BaseRoute]:
    return openai_routes(context)
