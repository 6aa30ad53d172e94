"""The text of a turn for a reader from whom nothing can be taken back, such as an HTTP client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

BETWEEN = "\n\n"
"""Between two answers of a turn, such as before and after a tool call."""


class Happened(Protocol):
    """An event, whether it was read from Redis or over HTTP."""

    @property
    def type(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]: ...


class AnswerText:
    """Gives each piece of text once, and ends with the committed answer, even if a worker died half-way.

    The next attempt is given only from where it goes beyond the given text. If it differs, it is given whole, after an
    empty line.
    """

    def __init__(self) -> None:
        self._given = ""
        """The part of the current answer that was given."""
        self._streamed = ""
        """The current answer, as far as this attempt has streamed it."""
        self._is_whole = True
        self._has_begun = False
        self._has_owner = False

    def add(self, event: Happened) -> str:
        """The text to give after this event."""
        match event.type:
            case "text.delta":
                return self._up_to(self._streamed + str(event.data.get("text", "")))
            case "run.started":
                # A second start without an end between them: the first worker was lost, and this one begins the answer
                # again.
                if self._has_owner:
                    self._restart()
                self._has_owner = True
            case "model.retried":
                self._restart()
            case "tool.started":
                self._end_answer()
            case "run.parked":
                self._end_answer()
                self._has_owner = False  # the next worker does not replace a lost one
        return ""

    def mark_gap(self) -> None:
        """Events were missed: give nothing more of this attempt, because a pause is better than text with a hole."""
        self._is_whole = False

    def finish(self, text: str | None) -> str:
        """What is missing to the committed answer. Another answer may follow."""
        self._is_whole = True
        rest = self._up_to(text) if text else ""
        self._end_answer()
        self._has_owner = False
        return rest

    def _restart(self) -> None:
        self._streamed = ""
        self._is_whole = True

    def _end_answer(self) -> None:
        self._given = self._streamed = ""
        self._is_whole = True

    def _up_to(self, text: str) -> str:
        self._streamed = text
        if not self._is_whole or self._given.startswith(text):
            return ""
        # The new attempt says something else. What was given cannot be taken back, so the new text follows it whole.
        if not text.startswith(self._given):
            self._given = ""
        more = text[len(self._given) :]
        is_next = not self._given and self._has_begun
        self._given = text
        self._has_begun = True
        return f"{BETWEEN}{more}" if is_next else more
