"""The form of the route table: what an endpoint takes, answers and needs, as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.tokens import Scope

if TYPE_CHECKING:
    from starlette.requests import Request

    from ingress.auth.principal import Principal
    from ingress.context import IngressContext

PREFIX = "/api/v1"


class Input(BaseModel):
    """A body or a query; an unknown field is an error."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True, frozen=True
    )


class NoInput(Input):
    """Nothing is taken."""


Q = TypeVar("Q", bound=Input)
B = TypeVar("B", bound=Input)


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, B]):
    """One request, with its parts checked."""

    context: IngressContext
    principal: Principal
    request: Request
    query: Q
    body: B

    @property
    def path(self) -> dict[str, str]:
        return self.request.path_params


Blocking = Callable[[Call[Any, Any]], Any]
"""Runs in a thread; returns what becomes JSON."""
Waiting = Callable[[Call[Any, Any]], Awaitable[Any]]
"""Runs in the event loop; may also return a response."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    summary: str
    scope: Scope
    handler: Blocking | Waiting
    answer: type[BaseModel]
    query: type[Input] = NoInput
    body: type[Input] = NoInput
    status: int = 200
    waits: bool = False
    """The handler is a coroutine."""
    slow: bool = False
    """The handler asks a worker, which may take seconds; few such wait at a time."""
    streams: bool = False
    """It answers with server-sent events, always or if they are asked for."""
    errors: tuple[int, ...] = field(default=(400, 401, 403, 404, 409, 422, 429, 503))

    @property
    def tag(self) -> str:
        return self.path.split("/")[1]
