"""The form in which a group's messages reach a model: who wrote, when, and what it replies to.

A message is put between two marker lines. Only the runtime writes these: what looks like a marker inside a text or a
name is removed, as in `untrusted`. So nobody can write in another person's name.
"""

from __future__ import annotations

from datetime import UTC, datetime

from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.untrusted import attribute, neutralise, wrap

_NAME = "CHAT_MESSAGE"
END = f"<<<END_{_NAME}>>>"
QUOTED_CHARS = 300


def chat_message(
    text: str,
    *,
    sender_name: str,
    sender_id: str,
    sent_at: int,
    authority: Authority | None = None,
    reply_to: str = "",
    quoted: str = "",
) -> str:
    """One message with its head. Words of a stranger are quoted inside: they are no orders.

    `authority` is None for a message that is shown as context only.
    """
    facts = {
        "from": attribute(sender_name),
        "id": attribute(sender_id),
        "at": _time(sent_at),
        "rights": authority or "",
        "reply_to": attribute(reply_to),
        "quoting": attribute(quoted, QUOTED_CHARS),
    }
    head = " ".join([f"<<<{_NAME}", *(f'{name}="{value}"' for name, value in facts.items() if value)])
    body = wrap(text, sender_name or "a stranger") if authority is Authority.ANYONE else neutralise(text)
    return f"{head}>>>\n{body}\n{END}"


def _time(milliseconds: int) -> str:
    if not milliseconds:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
