"""An answer that must be passed on to another session."""

from __future__ import annotations

from openclaw_workers.domain.ids import MessageId
from openclaw_workers.engine.sessions.relay import AnswerRelay


class DueRelays:
    def __init__(self, relay: AnswerRelay) -> None:
        self._relay = relay

    def handle(self, message_id: str) -> None:
        self._relay.pass_on(MessageId(message_id))
