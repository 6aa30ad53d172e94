"""Passes answers on between two sessions that talk to each other: a few turns each, then a note to the chat.

A commit stores the answer and its relay record together. Passing it on puts one message with a derived id into an
inbox, then deletes the record. After a crash in between the step is repeated, and the id prevents a second message.
"""

from __future__ import annotations

import structlog

from openclaw_workers.domain.accepted import Queued, Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import InboundMessage
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.routing.row_fields import last_route
from openclaw_workers.engine.sessions.texts_between_sessions import announce_text, internal, says_nothing, turn_text
from openclaw_workers.store.inter_session import InterSession, Relay
from openclaw_workers.store.reader import Reader

log = structlog.get_logger(__name__)


class AnswerRelay:
    def __init__(self, exchanges: InterSession, reader: Reader, intake: Intake, *, max_turns: int) -> None:
        self._exchanges = exchanges
        self._reader = reader
        self._intake = intake
        self._max_turns = max_turns

    def pass_on(self, answered: MessageId) -> None:
        """Take the next step of an exchange. Safe to repeat.

        Raises:
            StoreUnavailable: nothing is known; it stays due.
        """
        relay = self._exchanges.relay(answered)
        following = self._following(relay) if relay else None
        if following is not None:
            posted = self._intake.post(following)
            if isinstance(posted, Rejected) and posted.reason == "busy":
                return  # its inbox is full; this stays due
            what = "exchange.passed_on" if isinstance(posted, Queued) else "exchange.ended"
            log.info(what, message=following.id, session=following.session_key)
        self._exchanges.relayed(answered)

    def _following(self, relay: Relay) -> InboundMessage | None:
        turn, silent = int(relay.metadata["turn"]), says_nothing(relay.text)
        if silent and turn == 0:
            return None
        if silent or turn >= self._max_turns:
            return self._announce(relay, "" if silent else relay.text)
        origin, target = SessionKey(relay.metadata["origin"]), SessionKey(relay.metadata["target"])
        to = target if relay.session == origin else origin
        if not self._is_same_generation(relay, to):
            return None
        return internal(
            f"{relay.metadata['exchange']}-{turn + 1}",
            to,
            relay.session,
            turn_text(relay.session, relay.text, turn + 1, self._max_turns),
            authority=relay.authority,
            about={
                **{name: relay.metadata[name] for name in ("exchange", "origin", "origin_id", "target")},
                "target_id": _target_id(relay),
                "turn": str(turn + 1),
            },
        )

    def _announce(self, relay: Relay, latest: str) -> InboundMessage | None:
        """The last step: the session that was written to may tell its chat; one without a chat has nobody to tell."""
        target, origin = SessionKey(relay.metadata["target"]), SessionKey(relay.metadata["origin"])
        route = last_route(self._reader.row(target))
        if not self._is_same_generation(relay, target) or route.channel == "internal":
            return None
        text = announce_text(origin, latest)
        ident = f"{relay.metadata['exchange']}-announce"
        return internal(ident, target, origin, text, authority=relay.authority, route=route)

    def _is_same_generation(self, relay: Relay, session: SessionKey) -> bool:
        """Rule 18: an answer is for the session generation that took part; after a reset or deletion nobody gets it."""
        expected = relay.metadata["origin_id"] if session == relay.metadata["origin"] else _target_id(relay)
        return self._reader.row(session).get("sessionId") == expected


def _target_id(relay: Relay) -> str:
    return relay.session_id if relay.session == relay.metadata["target"] else relay.metadata["target_id"]
