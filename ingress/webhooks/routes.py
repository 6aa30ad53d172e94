"""`POST /hooks/wake`, `/hooks/agent` and `/hooks/<name>`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ingress.errors import HttpError
from ingress.webhooks.actions import HookActions
from ingress.webhooks.calls import MOST_KEY_CHARS, AgentCall, WakeCall, agent_call, mapped_call, mapping_for, wake_call
from ingress.webhooks.guard import HEADER, HookGuard
from ingress.webhooks.templates import Payload

if TYPE_CHECKING:
    from ingress.context import IngressContext

KEY_HEADERS = ("idempotency-key", "x-openclaw-idempotency-key")
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", HEADER})


def hook_routes(context: IngressContext) -> list[BaseRoute]:
    hooks = context.settings.hooks
    if not hooks.enabled or hooks.token is None:
        return []
    webhooks = Webhooks(context, HookGuard(hooks.token.get_secret_value()))
    return [Route(f"{hooks.path}/{{name:path}}", webhooks.serve, methods=["POST"])]


class Webhooks:
    def __init__(self, context: IngressContext, guard: HookGuard) -> None:
        self._context = context
        self._hooks = context.settings.hooks
        self._guard = guard
        self._actions = HookActions(context)

    async def serve(self, request: Request) -> Response:
        self._guard.check(request)
        body = await self._body(request)
        name = request.path_params["name"].strip("/")
        call, key = self._call(name, body, request)
        once = _once(name, key, request)
        act = self._actions.start_turn if isinstance(call, AgentCall) else self._actions.add_event
        return JSONResponse(await self._context.call(act, call, once))

    def _call(self, name: str, body: dict[str, Any], request: Request) -> tuple[AgentCall | WakeCall, str | None]:
        """What is asked for, and the idempotency key in the body."""
        if name == "wake":
            return wake_call(body)
        if name == "agent":
            return agent_call(body)
        mapping = mapping_for(self._hooks.mappings, name, body)
        if mapping is None:
            raise HttpError(404, f"no webhook {name!r}", hint="hooks.mappings in the configuration defines them")
        headers = {each: value for each, value in request.headers.items() if each not in SECRET_HEADERS}
        now = datetime.fromtimestamp(self._context.clock() / 1000, UTC).isoformat(timespec="seconds")
        return mapped_call(mapping, Payload(body, headers, name, now)), None

    async def _body(self, request: Request) -> dict[str, Any]:
        """The body as JSON.

        Raises:
            HttpError: 413 if it is too large, 400 if it is not a JSON object.
        """
        raw = bytearray()
        async for part in request.stream():
            raw += part
            if len(raw) > self._hooks.max_body:
                raise HttpError(413, f"a webhook has at most {self._hooks.max_body:,} bytes", hint="hooks.maxBody")
        try:
            body = json.loads(bytes(raw))
        except (ValueError, RecursionError) as error:
            raise HttpError(400, f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise HttpError(400, "expected a JSON object")
        return body


def _once(name: str, key: str | None, request: Request) -> str:
    """The idempotency key together with the hook's name; empty without one."""
    given = key or next((request.headers[each] for each in KEY_HEADERS if each in request.headers), "")
    if len(given) > MOST_KEY_CHARS:
        raise HttpError(400, f"an idempotency key has at most {MOST_KEY_CHARS} characters")
    return f"{name}\0{given}" if given else ""
