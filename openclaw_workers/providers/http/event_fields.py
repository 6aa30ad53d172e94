"""Events of a stream as the server wrote them, read by the names of their fields.

The SDKs build an object of a class of their own for each event and all in it. That takes longer than everything else
that is done with an answer, and tells no more: neither SDK checks what it builds.
"""

from __future__ import annotations

from typing import Any


class Fields:
    """A JSON object whose fields are attributes; one that is missing is None."""

    __slots__ = ("_raw",)

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return fields_of(self._raw.get(name))

    def to_dict(self) -> dict[str, Any]:
        return self._raw


def fields_of(value: Any) -> Any:
    """The value, with its objects read by attributes."""
    if isinstance(value, dict):
        return Fields(value)
    return [fields_of(each) for each in value] if isinstance(value, list) else value
