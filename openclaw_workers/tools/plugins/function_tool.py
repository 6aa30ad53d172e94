"""`@openclaw_workers.tool`: makes a tool of a typed function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from openclaw_workers.tools.base import Effect, ToolInput
from openclaw_workers.tools.plugins.signature import Parameters, parameters_of

P = ParamSpec("P")
R = TypeVar("R")

EffectName = Literal["none", "idempotent", "once"]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What the decorator was given, or derived from the function."""

    name: str
    description: str
    effect: Effect
    timeout_seconds: float | None
    max_output_bytes: int | None
    is_untrusted: bool


class FunctionTool(Generic[P, R]):
    """A function with what a model must know of it. Called directly, it is the function itself."""

    def __init__(self, function: Callable[P, R], options: ToolOptions, parameters: Parameters) -> None:
        self.function = function
        self.options = options
        self.parameters = parameters
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.options.name}>"

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def keyword_arguments(self, args: ToolInput, context: Any) -> dict[str, Any]:
        """What to call the function with."""
        given = {name: getattr(args, field) for name, field in self.parameters.fields.items()}
        return given | ({self.parameters.context: context} if self.parameters.context else {})


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: EffectName = "once",
    timeout_seconds: float | None = None,
    max_output_bytes: int | None = None,
    untrusted: bool = False,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: EffectName = "once",
    timeout_seconds: float | None = None,
    max_output_bytes: int | None = None,
    untrusted: bool = False,
) -> Any:
    """Make a tool of a function, sync or async.

    Args:
        function: the function; every parameter needs a type. A parameter of type `CallContext` is filled in.
        name: what models call it; else the function's name.
        description: what models read about it; else the docstring.
        effect: what may be done after a crash with a call that has no recorded result: run it again because it only
            reads ("none") or because a repeat changes nothing ("idempotent"), or never run it again ("once").
        timeout_seconds: the time limit of a call; else `plugins.timeoutSeconds`.
        max_output_bytes: the limit of an answer's text; else `plugins.maxOutput`.
        untrusted: the answer is third-party text, which the model must see quoted as such.

    Raises:
        TypeError: the function cannot be described to a model.
        ValueError: an option is not valid.
    """

    def make(decorated: Callable[..., Any]) -> FunctionTool[..., Any]:
        chosen = name or str(getattr(decorated, "__name__", ""))
        text = description or inspect.getdoc(decorated) or ""
        if not _NAME.fullmatch(chosen):
            raise ValueError(f"the tool name {chosen!r} is not valid: expected letters, digits, _ and -, 64 at most")
        if not text.strip():
            raise TypeError(f"tool {chosen}: a model needs a description; write a docstring")
        for option, value in (("timeout_seconds", timeout_seconds), ("max_output_bytes", max_output_bytes)):
            if value is not None and value <= 0:
                raise ValueError(f"tool {chosen}: {option} is {value}; expected more than 0")
        text = " ".join(text.split())
        options = ToolOptions(chosen, text, Effect(effect), timeout_seconds, max_output_bytes, untrusted)
        return FunctionTool(decorated, options, parameters_of(decorated, chosen))

    return make if function is None else make(function)
