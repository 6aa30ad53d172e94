"""Escape ids from outside so that each becomes exactly one segment of a session key.

Letters, digits and `. _ @ + -` stay as they are; every other byte is percent-encoded. If an id spells a word of the
key grammar, its first letter is percent-encoded too. So no id can mislead a split at `:` or a search for `:group:`.
An escaped id longer than 128 bytes becomes `~` plus its SHA-256; no other segment contains `~`.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from openclaw_workers.errors import BadInput

MAX_ID_BYTES: Final = 128

GRAMMAR_WORDS: Final = frozenset(
    ("agent", "dm", "direct", "group", "channel", "room", "thread", "topic", "cron", "hook", "subagent")
)

_HASHED = re.compile(r"~[0-9a-f]{64}")
_PLAIN = re.compile(r"[A-Za-z0-9._@+-]{1,128}")


class HashedId(str):
    """The hash of an id that was too long for a key; it needs no escaping."""

    __slots__ = ()


def escape_id(raw: str) -> str:
    """Escape any id as one key segment; different ids give different segments.

    Raises:
        BadInput: the id is empty.
    """
    if isinstance(raw, HashedId):
        return raw
    if not raw:
        raise BadInput("a session key needs an id here, and it is empty")
    if _PLAIN.fullmatch(raw) and raw.lower() not in GRAMMAR_WORDS:
        return raw
    # surrogatepass: a channel may send half an emoji, and unescaping must return it unchanged.
    data = raw.encode("utf-8", "surrogatepass")
    escaped = quote_from_bytes(data, safe="@+").replace("~", "%7E")
    if raw.lower() in GRAMMAR_WORDS:
        escaped = f"%{data[0]:02X}{escaped[1:]}"
    if len(escaped) <= MAX_ID_BYTES:
        return escaped
    return "~" + hashlib.sha256(data).hexdigest()


def unescape_id(segment: str) -> str:
    """Turn a segment back into the id. A `%` that starts no escape, which a person may type, stands for itself.

    Raises:
        BadInput: the escapes do not spell UTF-8.
    """
    if _HASHED.fullmatch(segment):
        return HashedId(segment)
    if "%" not in segment:
        return segment
    try:
        return unquote_to_bytes(segment.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise BadInput(f"the escapes in {segment!r} are not UTF-8; a bare % is written %25") from None
