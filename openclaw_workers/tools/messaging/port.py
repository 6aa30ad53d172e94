"""The interface between the messaging tools and the engine. Tools import no store; each turn gets a port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openclaw_workers.tools.messaging.inputs import AskInput, MessageInput


@dataclass(frozen=True, slots=True)
class FileToSend:
    name: str
    media_type: str
    content: bytes


class QuestionPort(Protocol):
    """Questions to the people of a session."""

    def ask(self, call_id: str, args: AskInput) -> str:
        """The answer, as JSON for the model. Repeating a call id asks nothing twice.

        Raises:
            TurnParked: nobody has answered yet. Repeat the call when somebody has, or the time is over.
        """


class MessagePort(Protocol):
    """Messages to chats."""

    def send(self, call_id: str, args: MessageInput, files: Sequence[FileToSend]) -> str:
        """Queue one message or change; returns JSON for the model. Repeating a call id sends nothing twice.

        Raises:
            OpenClawError: there is no such chat or message, or the policy or the channel forbids it.
        """
