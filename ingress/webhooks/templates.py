"""Templates of webhook mappings: text of the owner with `{{field.path}}` where a field of the payload belongs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.opaque_ids import escape_id
from openclaw_workers.domain.untrusted import wrap

_FIELD = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_HARMLESS = re.compile(r"[\w./#@:+-]{0,100}", re.ASCII)
"""One word of plain characters: an id, a number, an address. It cannot give orders."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What a template can name: fields of the body, `headers.<name>`, `path` (the hook's name) and `now`."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names in lower case, without those that hold a secret."""
    path: str
    now: str

    def value(self, field: str) -> Any:
        """The value of a field; None if there is none. `payload.path` is the field of the body."""
        head, _, rest = field.partition(".")
        match head:
            case "path" | "now" if not rest:
                return self.path if head == "path" else self.now
            case "headers" if rest:
                return self.headers.get(rest.lower())
            case "payload" if rest:
                return _at(self.body, rest)
        return _at(self.body, field)


def has_fields(template: str) -> bool:
    return _FIELD.search(template) is not None


def render_text(template: str, payload: Payload, source: str) -> str:
    """The text for an agent. Values from outside are quoted as untrusted, unless they are one harmless word."""

    def quoted(found: re.Match[str]) -> str:
        text = _text(payload.value(found[1]))
        return text if _HARMLESS.fullmatch(text) else f"\n{wrap(text, source)}\n"

    return _FIELD.sub(quoted, template)


def render_key(template: str, payload: Payload) -> str:
    """A session key. Each value becomes a part of one segment, so that it cannot spell another session's key.

    Raises:
        BadInput: a value is missing.
    """
    return _FIELD.sub(lambda found: escape_id(_text(payload.value(found[1]))), template)


def whole(payload: Payload, source: str) -> str:
    """The whole body, where no template chooses from it."""
    return wrap(json.dumps(payload.body, ensure_ascii=False, indent=1), source)


def _at(value: Any, path: str) -> Any:
    for name, index in _STEP.findall(path):
        match value:
            case Mapping() if name:
                value = value.get(name)
            case list() if index and int(index) < len(value):
                value = value[int(index)]
            case _:
                return None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
