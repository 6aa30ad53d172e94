"""What is wrong with a value, in words a person can act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from openclaw_workers.config.env_vars import Expanded
from openclaw_workers.config.normalise import Normalised
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


def validated(model: type[Valid], tree: dict[str, Any], context: Mapping[str, Any]) -> Valid | list[ErrorDetails]:
    """The model of a tree, or everything that is wrong with it.

    The settings of a section are compared with each other only once each of them is right. So that all problems are
    told at once, those that are wrong are left out and the rest is looked at again.
    """
    try:
        return model.model_validate(tree, context=dict(context))
    except ValidationError as error:
        found = error.errors(include_url=False)
    rest = deepcopy(tree)
    for details in found:
        _remove(rest, _loc(details))
    try:
        model.model_validate(rest, context=dict(context))
    except ValidationError as error:
        found += _between_others(error.errors(include_url=False), [_loc(details) for details in found])
    return found


def _between_others(errors: list[ErrorDetails], wrong: list[Loc]) -> Iterator[ErrorDetails]:
    """Those that lie between settings, none of which is itself wrong: each such complaint names all it is about."""
    for details in errors:
        loc, told = _loc(details), details["msg"]
        missing = [place[len(loc)] for place in wrong if len(place) > len(loc) and place[: len(loc)] == loc]
        if details["type"] == "value_error" and loc not in wrong and not any(str(key) in told for key in missing):
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


def describe(errors: list[ErrorDetails], tidied: Normalised) -> list[tuple[str, str]]:
    """For each error where it stands in the file, and what was expected and found."""
    return [(tidied.where(_loc(details)), _complaint(details["type"], details)) for details in errors]


def _loc(details: ErrorDetails) -> Loc:
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
    """`, found ...`: the value where it is short and cannot be secret, else what sort of value it is."""
    sort = {dict: "a mapping", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    if isinstance(value, Expanded):
        return ", found text from the environment" if kind else ""
    if isinstance(value, bool):
        return f", found {str(value).lower()}"
    if isinstance(value, str):
        # An address with a password, or a key that was put into the wrong place.
        may_be_secret = "@" in value or len(value) > 40
        return ", found text" if kind else "" if may_be_secret else f", found {value!r}"
    if isinstance(value, int | float) and not kind:
        return f", found {value}"
    return f", found {sort[type(value)]}" if type(value) in sort and kind else ""


def _nearest(value: Any, expected: str) -> str:
    options = [word.strip("' ") for word in expected.replace(" or ", ",").split(",")]
    guess = did_you_mean(value, options) if isinstance(value, str) else ""
    return f"; {guess}" if guess else ""
