"""Silent replies: a model answers NO_REPLY when it has nothing to say, and nothing is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass

NO_REPLY = "NO_REPLY"
_DOVE = "\N{DOVE OF PEACE}"
# The dove may have its variation selector, and spaces, underscores or dashes between it and the token.
_SILENT = re.compile(rf"[*`\"']*(?:{_DOVE}\ufe0f?[\s_-]*)?{NO_REPLY}[*`\"'.]*", re.IGNORECASE)
_TRAILING = re.compile(rf"[\s*`]+(?:{_DOVE}\ufe0f?[\s_-]*)?{NO_REPLY}[*`.]*\s*\Z")
# N, NO, NO_ and so on: a delta may end anywhere inside the token.
_BEGUN = "(?:".join(NO_REPLY) + "[*`.]*\\s*" + ")?" * (len(NO_REPLY) - 1)
_MAY_TRAIL = re.compile(rf"[\s*`]+(?:{_DOVE}\ufe0f?[\s_-]*)?(?:{_BEGUN})?\Z")
_LOOKED_AT = 40
"""How many characters at the end of a reply are searched for the start of the token."""


def is_silent(text: str) -> bool:
    """Whether the whole reply is the token; a reply that only mentions it is a normal reply."""
    return _SILENT.fullmatch(text.strip()) is not None


def text_to_send(text: str) -> str:
    """The text to send: nothing for a silent reply, otherwise the reply without a token at its end."""
    return "" if is_silent(text) else _TRAILING.sub("", text)


def may_become_silent(text: str) -> bool:
    """Whether a reply that starts like this may still turn out silent; until that is known, nothing is shown."""
    begun = text.strip().lstrip(f"*`\"'{_DOVE}\ufe0f_- ")
    return is_silent(text) or (len(begun) <= len(NO_REPLY) and NO_REPLY.startswith(begun))


@dataclass
class ReplyStream:
    """A streaming reply: text that may belong to the silent token is held back until that is known."""

    received: str = ""
    shown: str = ""

    def add(self, delta: str) -> str:
        """Add a delta; return what can be shown now."""
        self.received += delta
        if not self.shown and may_become_silent(self.received):
            return ""
        begun = _MAY_TRAIL.search(self.received[-_LOOKED_AT:])
        return self._show(len(self.received) - (len(begun.group()) if begun else 0))

    def end(self) -> str:
        """The reply is complete; return the held-back text that is sent after all."""
        return self._show(len(text_to_send(self.received)))

    def _show(self, upto: int) -> str:
        more = self.received[len(self.shown) : upto]
        self.shown += more
        return more
