"""`/v1/chat/completions`, `/v1/models` and `/v1/models/{id}`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ingress.errors import NO_HEADERS, HttpError
from ingress.openai.answers import CompletionStream, PendingAnswer, command_answer
from ingress.openai.completions import CompletionForm
from ingress.openai.errors import INVALID, SERVER, TOO_MANY, ApiError, api_error
from ingress.openai.intake import IDEMPOTENCY_HEADER, accept, understand
from ingress.openai.requests import parse_request
from ingress.openai.sessions import agent_for, model_ids
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.errors import OpenClawError

if TYPE_CHECKING:
    from ingress.context import IngressContext

WAIT_HEADER = "x-openclaw-wait"

Endpoint = Callable[[Request], Awaitable[Response]]


def openai_routes(context: IngressContext) -> list[BaseRoute]:
    api = OpenAiApi(context)
    return [
        Route("/v1/chat/completions", in_openai_form(api.complete), methods=["POST"]),
        Route("/v1/models", in_openai_form(api.list_models), methods=["GET"]),
        Route("/v1/models/{id:path}", in_openai_form(api.show_model), methods=["GET"]),
    ]


def in_openai_form(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose errors have the form that OpenAI's clients read."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ApiError as error:
            return error_answer(error)
        except HttpError as error:
            return error_answer(_of_http(error), error.headers)
        except OpenClawError as error:
            return error_answer(api_error(error, is_repeat_safe=IDEMPOTENCY_HEADER in request.headers))

    return answer


def error_answer(error: ApiError, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    return JSONResponse(error.body, status_code=error.status, headers={**headers, **error.headers})


def _of_http(error: HttpError) -> ApiError:
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    code = "invalid_api_key" if error.status == 401 else error.code
    kind = TOO_MANY if error.status == 429 else INVALID if error.status < 500 else SERVER
    return ApiError(error.status, message, code=code, kind=kind)


class OpenAiApi:
    def __init__(self, context: IngressContext) -> None:
        self._context = context
        self._created = context.clock() // 1000

    async def list_models(self, request: Request) -> Response:
        principal = await self._context.auth.require(request, Scope.READ)
        listed = [self._model(name) for name in model_ids(self._context.settings, principal)]
        return JSONResponse({"object": "list", "data": listed})

    async def show_model(self, request: Request) -> Response:
        principal = await self._context.auth.require(request, Scope.READ)
        name = request.path_params["id"]
        agent_for(name, self._context.settings, principal)
        return JSONResponse(self._model(name))

    async def complete(self, request: Request) -> Response:
        context = self._context
        principal = await context.auth.require(request, Scope.CHAT)
        body = parse_request(await request.body())
        with_tree = _waits_for_tree(request)
        wanted = understand(context, request, body, principal)
        accepted = await context.call(accept, context, wanted)
        form = CompletionForm(
            f"chatcmpl-{wanted.message_id.removeprefix('msg-')}",
            context.clock() // 1000,
            body.model,
            body.stream and body.includes_usage,
        )
        match accepted:
            case Rejected(_, reason):
                raise _rejected(reason)
            case Answered(text):
                return command_answer(form, text, is_stream=body.stream)
        assert isinstance(accepted, Queued)
        answer = PendingAnswer(context, accepted, form, is_stateless=wanted.is_stateless, with_tree=with_tree)
        return CompletionStream(answer) if body.stream else await answer.whole(request)

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._created, "owned_by": "openclaw"}


def _waits_for_tree(request: Request) -> bool:
    """Whether the client also wants the replies to the results of sub-agents that its turn starts."""
    wait = request.headers.get(WAIT_HEADER, "turn")
    if wait not in ("turn", "tree"):
        raise ApiError(400, f"expected turn or tree, found {wait!r}", code="invalid_request", param=WAIT_HEADER)
    return wait == "tree"


def _rejected(reason: str) -> ApiError:
    """The session did not take the message; nothing has happened, so the client may try again."""
    why = "the session is busy" if reason == "busy" else "the queue of the session is full"
    return ApiError(429, why, code=f"session_{reason}", kind=TOO_MANY)
