"""The body of a request, and what of it is refused because an agent cannot honour it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ingress.openai.errors import ApiError

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]

TOOLS_REFUSED = "agents use their own tools; tools of the client are not supported"


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ChatMessage(_Body):
    role: Role
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None


class StreamOptions(_Body):
    include_usage: bool = False


class ChatRequest(_Body):
    """What counts of a request. Sampling settings are the agent's own, so those of the client are ignored."""

    model: str = Field(min_length=1, max_length=200)
    messages: list[ChatMessage] = Field(min_length=1, max_length=10_000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    user: str | None = Field(default=None, max_length=500)
    reasoning_effort: str | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None

    @property
    def includes_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


def parse_request(raw: bytes) -> ChatRequest:
    """Read a body.

    Raises:
        ApiError: it is not valid, or asks for what an agent cannot do.
    """
    try:
        request = ChatRequest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        param = ".".join(map(str, first["loc"]))
        what = f"{param}: {first['msg']}" if param else f"the body is not valid JSON: {first['msg']}"
        raise ApiError(400, what, code="invalid_request", param=param or None) from error
    _refuse_unsupported(request)
    return request


def _refuse_unsupported(request: ChatRequest) -> None:
    """An option that is silently ignored would have the client wait for what never comes."""
    if request.tools or request.functions:
        param = "tools" if request.tools else "functions"
        raise ApiError(400, TOOLS_REFUSED, code="client_tools_unsupported", param=param)
    if request.n not in (None, 1):
        raise ApiError(400, "an agent gives one answer; n must be 1", code="unsupported_parameter", param="n")
    if request.response_format and request.response_format.get("type", "text") != "text":
        raise ApiError(
            400,
            "only response_format text is supported; ask for JSON in the message",
            code="unsupported_parameter",
            param="response_format",
        )
    if request.logprobs:
        raise ApiError(400, "logprobs are not available", code="unsupported_parameter", param="logprobs")
    if request.modalities and request.modalities != ["text"]:
        raise ApiError(400, "answers are text only", code="unsupported_parameter", param="modalities")
