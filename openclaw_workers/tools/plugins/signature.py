"""The input of a tool from the annotations of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from openclaw_workers.tools.base import ToolInput
from openclaw_workers.tools.plugins.call_context import CallContext

_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameters:
    """A function's parameters, as a model fills them."""

    input_type: type[ToolInput]
    fields: Mapping[str, str]
    """The field of the input for each parameter."""
    context: str
    """The parameter that gets the `CallContext`; empty if there is none."""


def parameters_of(function: Callable[..., Any], name: str) -> Parameters:
    """What the function takes.

    Raises:
        TypeError: a parameter has no type, or a type that has no JSON schema.
    """
    hints = _hints(function, name)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints.get(parameter.name)
        _check(parameter, annotation, name)
        if annotation is CallContext:
            context = parameter.name
            continue
        # A field under the parameter's own name could hide a method of the model, such as `copy`.
        field = names[parameter.name] = f"given_{parameter.name}"
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[field] = (_described(annotation, parameter.name), default)
    return Parameters(_model(name, fields), names, context)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(f"tool {name}: a type is not known where the function is defined: {error}") from error


def _check(parameter: inspect.Parameter, annotation: Any, name: str) -> None:
    where = f"tool {name}: parameter {parameter.name}"
    if parameter.kind not in _KINDS:
        raise TypeError(f"{where} has no name of its own that a model could fill; expected plain parameters")
    if annotation is None and parameter.annotation is parameter.empty:
        raise TypeError(f"{where} has no type; write one, such as `{parameter.name}: str`")
    if isinstance(parameter.default, FieldInfo):
        raise TypeError(f"{where} has a Field as its default; write Annotated[type, Field(...)] = default")


def _described(annotation: Any, alias: str) -> Any:
    """The annotation under the parameter's name. A plain text in `Annotated` is the description."""
    texts = [each for each in get_args(annotation)[1:] if isinstance(each, str)] if _is_annotated(annotation) else []
    named = Annotated[annotation, Field(alias=alias)]
    return Annotated[named, Field(description=texts[0])] if texts else named


def _is_annotated(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated


def _model(name: str, fields: dict[str, Any]) -> type[ToolInput]:
    try:
        model: type[ToolInput] = create_model(f"{name}_input", __base__=ToolInput, **fields)
        # Tried here, so that a type without a schema is reported when the plugin is loaded and not in a turn.
        model.model_json_schema()
    except (PydanticUserError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise TypeError(f"tool {name}: a parameter has a type that cannot be described to a model: {first}") from error
    return model
