"""From the route table to Starlette routes: who asks, what they ask, and the answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ingress.api.table import PREFIX, Call, Endpoint, Input, NoInput
from ingress.errors import HttpError

if TYPE_CHECKING:
    from ingress.context import IngressContext

MOST_PROBLEMS = 5
NOTHING = NoInput()
I = TypeVar("I", bound=Input)  # noqa: E741 - for Input


class JsonAnswer(Response):
    """JSON that any stored text fits into: half an emoji is replaced."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def routes_of(endpoints: Iterable[Endpoint], context: IngressContext) -> list[BaseRoute]:
    """One route for each path, so that another method is answered with 405 and the methods there are."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [_route(path, methods, context) for path, methods in by_path.items()]


def _route(path: str, methods: dict[str, Endpoint], context: IngressContext) -> Route:
    async def serve(request: Request) -> Response:
        # Starlette adds HEAD wherever there is a GET.
        return await _serve(methods.get(request.method) or methods["GET"], context, request)

    return Route(PREFIX + path, serve, methods=list(methods))


async def _serve(endpoint: Endpoint, context: IngressContext, request: Request) -> Response:
    # Before anything is parsed: a stranger must not learn from error messages which fields there are.
    principal = await context.auth.require(request, endpoint.scope)
    query = _checked_query(endpoint.query, request)
    body = await _checked_body(endpoint.body, request)
    call: Call[Any, Any] = Call(context, principal, request, query, body)
    if endpoint.waits:
        answer = await endpoint.handler(call)
    else:
        answer = await (context.call_slowly if endpoint.slow else context.call)(endpoint.handler, call)
    return answer if isinstance(answer, Response) else JsonAnswer(answer, status_code=endpoint.status)


def _checked_query(model: type[Input], request: Request) -> Input:
    if model is NoInput and not request.scope["query_string"]:
        return NOTHING
    try:
        return model.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise _invalid("query", error) from error


async def _checked_body(model: type[I], request: Request) -> I:
    raw = await request.body()
    if model is NoInput:
        return NOTHING  # type: ignore[return-value]  # NoInput is the model
    if not raw:
        raw = b"{}"
    # A form of a foreign page can send JSON as text/plain without asking the browser; application/json it cannot.
    elif request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "expected a body of type application/json")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        # The parser's message quotes no content, unlike pydantic's input values.
        if error.errors()[0]["type"] == "json_invalid":
            raise HttpError(400, f"the body is not JSON: {error.errors()[0]['ctx']['error']}") from error
        raise _invalid("body", error) from error


def _invalid(where: str, error: ValidationError) -> HttpError:
    """Every field at fault, without the values: they may be secret."""
    problems = [
        f"{'.'.join(map(str, each['loc'])) or where}: {each['msg']}" for each in error.errors(include_url=False)
    ]
    more = f" and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
    hint = f"{PREFIX}/docs describes every field"
    return HttpError(422, f"{where}: {'; '.join(problems[:MOST_PROBLEMS])}{more}", hint=hint)
