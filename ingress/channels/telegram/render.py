"""An outgoing message as calls to the Bot API: texts of at most 4096 units, then files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ingress.channels.adapter import Part
from ingress.channels.telegram.client import MAX_CALLBACK_BYTES
from ingress.channels.telegram.markdown import styled
from ingress.channels.telegram.split import split
from openclaw_workers.domain.outgoing import Button, OutgoingMessage

MAX_RICH_CHARS = 32_768
_TABLE = re.compile(r"^ *\|.*\n *\|[ :|-]+$", re.MULTILINE)


def render(message: OutgoingMessage, *, rich: bool = False) -> list[Part]:
    """The parts of a message in sending order. The first one replies, the last text carries the buttons."""
    rows = [row for row in message.buttons if row]
    as_text = any(_is_too_long(button) for row in rows for button in row)
    text = "\n\n".join(filter(None, [message.text, _listed(rows) if as_text else ""]))
    pieces = [piece.payload() for piece in split(styled(text))]
    if rich and _is_rich(pieces, text):
        # The plain form is stored with it: if the server does not know rich messages, it is sent instead.
        pieces = [{"rich": True, "text": text, "plain": pieces}]
    parts = [Part(payload=payload) for payload in pieces]
    if parts and rows and not as_text:
        # On the last text, so that they stand below the whole message.
        parts[-1] = _with(parts[-1], buttons=[[each.model_dump() for each in row] for row in rows])
    parts += [Part(file=file) for file in message.files]
    if parts and message.reply_to.isdecimal():
        parts[0] = _with(parts[0], replyTo=message.reply_to)
    return parts


def _with(part: Part, **more: Any) -> Part:
    return replace(part, payload={**part.payload, **more})


def _is_rich(pieces: Sequence[dict[str, Any]], text: str) -> bool:
    """Whether a rich message shows it better: it has a table, or would be several messages."""
    return len(text) <= MAX_RICH_CHARS and (len(pieces) > 1 or _TABLE.search(text) is not None)


def _is_too_long(button: Button) -> bool:
    return not button.url and len(button.data.encode()) > MAX_CALLBACK_BYTES


def _listed(rows: Sequence[Sequence[Button]]) -> str:
    """Buttons that Telegram would not take, as text to copy."""
    return "\n".join(f"- {each.text}: {each.url or f'`{each.data}`'}" for row in rows for each in row)
