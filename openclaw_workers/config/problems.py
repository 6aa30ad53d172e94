"""Turn validation errors into messages that a person can act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from openclaw_workers.config.env_vars import ExpandedText
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.schema_tree import Loc
from openclaw_workers.domain.suggest import did_you_mean

Valid = TypeVar("Valid", bound=BaseModel)

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "path_type": "a path",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "tuple_type": "a list",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def validate(model: type[Valid], tree: dict[str, Any], context: Mapping[str, Any]) -> Valid | list[ErrorDetails]:
    """Validate a tree; return the model, or all errors.

    pydantic compares the settings of a section with each other only if each of them is valid. To report all problems
    at once, this removes the invalid settings and validates the rest again.
    """
    try:
        return model.model_validate(tree, context=dict(context))
    except ValidationError as error:
        found = error.errors(include_url=False)
    # The caller still needs the tree as it was written.
    rest = deepcopy(tree)
    for details in found:
        _remove(rest, _loc(details))
    try:
        model.model_validate(rest, context=dict(context))
    except ValidationError as error:
        found += _conflict_errors(error.errors(include_url=False), [_loc(details) for details in found])
    return found


def _conflict_errors(errors: list[ErrorDetails], wrong: list[Loc]) -> Iterator[ErrorDetails]:
    """Yield the errors between settings that are each valid. Such an error message names all settings involved."""
    for details in errors:
        loc, message = _loc(details), details["msg"]
        missing = [place[len(loc)] for place in wrong if len(place) > len(loc) and place[: len(loc)] == loc]
        if details["type"] == "value_error" and loc not in wrong and not any(str(key) in message for key in missing):
            yield details


def _remove(tree: Any, loc: Loc) -> None:
    for key in loc[:-1]:
        if not isinstance(tree, dict | list):
            return
        try:
            tree = tree[key]  # type: ignore[index]
        except (KeyError, IndexError):
            return
    if isinstance(tree, dict) and loc:
        tree.pop(loc[-1], None)


def describe(errors: list[ErrorDetails], normaliser: Normaliser) -> list[tuple[str, str]]:
    """For each error, its path in the file and a message: what was expected and what was found."""
    return [(normaliser.where(_loc(details)), _complaint(details["type"], details)) for details in errors]


def _loc(details: ErrorDetails) -> Loc:
    # pydantic adds this part if the key of a map is wrong.
    return tuple(part for part in details["loc"] if part != "[key]")


def _complaint(kind: str, details: ErrorDetails) -> str:
    context, value = details.get("ctx", {}), details["input"]
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}{_found(value, kind=True)}"
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"expected {words} {context[bound]}{_found(value)}"
    match kind:
        case "missing":
            complaint = "required, but missing"
        case "value_error":
            complaint = f"{context['error']}{_found(value)}"
        case "literal_error" | "enum":
            complaint = f"expected {context['expected']}{_found(value)}{_nearest(value, context['expected'])}"
        case "too_short":
            complaint = f"expected at least {context['min_length']} in the list{_found(value, kind=True)}"
        case "string_pattern_mismatch":
            complaint = f"expected text that matches {context['pattern']}{_found(value)}"
        case _:
            complaint = details["msg"]
    return complaint


def _found(value: Any, *, kind: bool = False) -> str:
    """`, found ...`: the value if it is short and cannot be secret, else its type."""
    sort = {dict: "a mapping", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    if isinstance(value, ExpandedText):
        return ", found text from the environment" if kind else ""
    if isinstance(value, bool):
        return f", found {str(value).lower()}"
    if isinstance(value, str):
        # It may be a URL with a password, or an API key in the wrong place.
        may_be_secret = "@" in value or len(value) > 40
        return ", found text" if kind else "" if may_be_secret else f", found {value!r}"
    if isinstance(value, int | float) and not kind:
        return f", found {value}"
    return f", found {sort[type(value)]}" if type(value) in sort and kind else ""


def _nearest(value: Any, expected: str) -> str:
    options = [word.strip("' ") for word in expected.replace(" or ", ",").split(",")]
    guess = did_you_mean(value, options) if isinstance(value, str) else ""
    return f"; {guess}" if guess else ""
