"""Telling a session that something happened: a webhook was called, a command has finished, a time has come.

The session's next turn begins with them, as events and not as a person's words.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Literal

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.accepted import Rejected
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, InboundMessage
from openclaw_workers.domain.shorten import one_line, shorten
from openclaw_workers.domain.system_event import MAX_EVENT_CHARS, PROVENANCE, SystemEvent
from openclaw_workers.domain.untrusted import neutralise, wrap
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.routing.row_fields import last_route
from openclaw_workers.errors import BadInput
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.system_events import SystemEvents as EventStore

SOURCE_CHARS = 80
Added = Literal["added", "known", "missing"]
"""`added`: the next turn sees it. `known`: one with this key was added within a day. `missing`: no such session."""


class SystemEvents:
    def __init__(self, *, store: EventStore, intake: Intake, reader: Reader) -> None:
        self._store = store
        self._intake = intake
        self._reader = reader

    def add(
        self,
        session: SessionKey,
        *,
        source: str,
        text: str,
        key: str,
        wake: bool = False,
        is_trusted: bool = False,
        authority: Authority = Authority.ANYONE,
    ) -> Added:
        """Tell a session of an event in its next turn. A repeat with the same source and key changes nothing.

        `wake` opens a turn for it, and creates the session if there is none; its reply goes where the session was last
        spoken to. While such a turn waits, further events join it. `is_trusted`: we wrote the text ourselves; any other
        is quoted. `authority` is that of who asked for the event.

        Raises:
            BadInput: source, text or key is empty.
            StoreUnavailable: nothing is known; repeating is safe.
        """
        if not (source.strip() and text.strip() and key):
            raise BadInput("a system event needs a source, a text and a key")
        event = _event(source, text, key, is_trusted)
        if not wake:
            return self._store.add(session, event)
        posted = self._intake.post(self._wake_up(session, event, authority), event=event)
        if isinstance(posted, Rejected):
            return "missing"
        joined = posted.duplicate is not None and not self._waits(session, event)
        return "known" if joined else "added"

    def _waits(self, session: SessionKey, event: SystemEvent) -> bool:
        """Whether an event that opened no turn joined one that waits; a repeat of it no longer waits."""
        return any(each.key == event.key for each in self._store.waiting(session))

    def _wake_up(self, session: SessionKey, event: SystemEvent, authority: Authority) -> InboundMessage:
        return InboundMessage(
            id=MessageId(f"event-{event.key}"),
            session_key=session,
            text=texts.SYSTEM_EVENT_WITHOUT_TEXT,
            route=last_route(self._reader.row(session)),
            sender=event.source,
            authority=authority,
            kind="internal",
            metadata={"provenance": PROVENANCE},
        )


def _event(source: str, text: str, key: str, is_trusted: bool) -> SystemEvent:
    source = shorten(neutralise(one_line(replace_surrogates(source))), SOURCE_CHARS)
    text = shorten(replace_surrogates(text).strip(), MAX_EVENT_CHARS)
    time = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    heading = texts.SYSTEM_EVENT.format(source=source, time=time)
    shown = f"{heading}\n{text if is_trusted else wrap(text, source)}"
    digest = hashlib.sha256(f"{source}\0{key}".encode("utf-8", "replace")).hexdigest()[:32]
    return SystemEvent(source=source, text=text, key=digest, shown=shown)
