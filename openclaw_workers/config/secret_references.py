"""Where secrets stand in a configuration, and what refers to variables instead of holding a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import SecretStr

from openclaw_workers.config.base import Section, mask_url
from openclaw_workers.config.env_vars import references_in
from openclaw_workers.config.schema_tree import Loc, aliases, item_of, plain_type, section_of
from openclaw_workers.config.settings import Settings

EDGE_SECTIONS = ("channels", "hooks", "gateway")
"""Sections whose secrets only the ingress uses. A worker needs none of them."""

SERVICES: tuple[Loc, ...] = (("models", "providers"), ("mcp", "servers"), ("tools", "web"))
"""Where services are described that a worker can do without: an unknown address is like a missing key."""

PREFIX = "OPENCLAW_SECRET_"
"""What the names of secrets that were moved out of a file begin with."""

_PURE = re.compile(r"([A-Za-z]+ )?\$\{[A-Za-z_]\w*\}")
"""A reference alone, or after a word, as in `Bearer ${TOKEN}`: nothing in it is secret."""

Change = Callable[[Loc, str, bool], str]
"""From a path, the text there and whether the setting is a secret to the text that stands there instead."""


def with_texts(tree: dict[str, Any], change: Change) -> dict[str, Any]:
    """A copy of a normalised tree in which `change` was applied to every text."""
    changed: dict[str, Any] = _changed(tree, Settings, (), change)
    return changed


def _changed(value: Any, annotation: Any, loc: Loc, change: Change) -> Any:
    if isinstance(value, str):
        kind = plain_type(annotation)
        return change(loc, value, isinstance(kind, type) and issubclass(kind, SecretStr))
    section = section_of(annotation)
    kind, item = item_of(annotation)
    if isinstance(value, dict):
        of = _fields(section) if section else {}
        return {key: _changed(each, of.get(key, item), (*loc, str(key)), change) for key, each in value.items()}
    if isinstance(value, list):
        return [_changed(each, item, (*loc, at), change) for at, each in enumerate(value)]
    return value


def _fields(section: type[Section]) -> dict[str, Any]:
    return {key: section.model_fields[name].annotation for key, name in aliases(section).items()}


def texts(tree: dict[str, Any]) -> Iterator[tuple[Loc, str, bool]]:
    """Every text of a normalised tree, with its path and whether the setting is a secret."""
    found: list[tuple[Loc, str, bool]] = []

    def note(loc: Loc, text: str, is_secret: bool) -> str:
        found.append((loc, text, is_secret))
        return text

    with_texts(tree, note)
    yield from found


def holds_secret(text: str, *, is_secret: bool) -> bool:
    """Whether a text must not leave this host: a secret that was written out, or an address with a password."""
    if is_secret:
        return not _PURE.fullmatch(text)
    is_address = "://" in text and not re.search(r"\s", text)
    return is_address and mask_url(text) != text and not references_in(text)


def without_secrets(tree: dict[str, Any], kept: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The tree with references instead of secrets, and the secrets by the names that refer to them.

    `kept` are the secrets of this host so far. A secret that is among them keeps its name. A new value gets a new
    name, so that older versions of the configuration still find theirs.
    """
    moved: dict[str, str] = {}

    def move(loc: Loc, text: str, is_secret: bool) -> str:
        if not holds_secret(text, is_secret=is_secret):
            return text
        name = _name_for(reference_name(loc), text, {**kept, **moved})
        moved[name] = text
        return f"${{{name}}}"

    return with_texts(tree, move), moved


def as_written(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree with references instead of secrets, for comparing: their names depend on the path alone."""
    return with_texts(
        tree,
        lambda loc, text, is_secret: f"${{{reference_name(loc)}}}" if holds_secret(text, is_secret=is_secret) else text,
    )


def reference_name(loc: Loc) -> str:
    """The name of the secret at a path: `models.providers.openai.apiKey` is OPENCLAW_SECRET_MODELS_…_API_KEY."""
    words = "_".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(part)) for part in loc)
    return PREFIX + re.sub(r"\W+", "_", words).upper()


def _name_for(base: str, text: str, known: Mapping[str, str]) -> str:
    name, number = base, 1
    while name in known and known[name] != text:
        number += 1
        name = f"{base}_{number}"
    return name


def needed_variables(tree: dict[str, Any]) -> dict[str, bool]:
    """The variables that a worker needs, each with whether it can work without it.

    Without a secret, or a variable of a service, only what needs it fails.
    """
    needed: dict[str, bool] = {}
    for loc, text, is_secret in texts(tree):
        if loc[0] not in EDGE_SECTIONS:
            for name in references_in(text):
                # One use that cannot do without the variable is enough to require it.
                is_optional = is_secret or name.startswith(PREFIX) or loc[:2] in SERVICES
                needed[name] = needed.get(name, True) and is_optional
    return needed
