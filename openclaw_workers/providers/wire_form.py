"""Requests as bytes, in which each entry of the conversation is converted once.

A conversation is sent again with each call. In a long one, building it from scratch took longer than all else. So did
the SDKs, which copy or compare each field that they are given. So a body is put together here from JSON that is kept
with the entries, and the SDKs send it as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import TranscriptEntry

Item = dict[str, Any]
Convert = Callable[[Any], list[Item]]
"""An entry as items of the API: messages, or parts of one."""

_KEPT: Final = "wire form"
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""As both SDKs and httpx2 write JSON."""


def encoded(value: object) -> bytes:
    """The value as JSON.

    Raises:
        ValueError: it holds what JSON or UTF-8 cannot.
    """
    return _ENCODER.encode(value).encode()


def joined(items: Iterable[Item]) -> bytes:
    return b",".join(map(encoded, items))


def wire_forms(entries: Sequence[TranscriptEntry], form: str, convert: Convert) -> list[bytes]:
    """For each entry its items, joined by commas; `form` names what they depend on beside the entry.

    An entry keeps one form: most conversations stay with one model.
    """
    form = sys.intern(form)  # so that it is compared by its address
    return [
        kept[1] if (kept := entry.derived.get(_KEPT)) and kept[0] is form else _converted(entry, form, convert)
        for entry in entries
    ]


def _converted(entry: TranscriptEntry, form: str, convert: Convert) -> bytes:
    items = joined(convert(entry))
    # A file may be gone by the next call, or withheld, and is large.
    if not entry.files:
        entry.derived[_KEPT] = form, items
    return items


def tool_forms(tools: Sequence[ToolSpec], api: str, convert: Callable[[ToolSpec], Item]) -> list[bytes]:
    """The tools as this API knows them, each converted once."""
    for tool in tools:
        if api not in tool.derived:
            tool.derived[api] = encoded(convert(tool))
    return [tool.derived[api] for tool in tools]


def body(fields: Mapping[str, Any], **lists: Iterable[bytes]) -> bytes:
    """A request with these fields, and under these names lists of items that are JSON already."""
    listed = (b'"%s":[%s]' % (name.encode(), b",".join(filter(None, items))) for name, items in lists.items())
    # The encoded fields begin with a brace, which the lists before them have already opened.
    return b"{%s,%s" % (b",".join(listed), encoded(fields)[1:])
