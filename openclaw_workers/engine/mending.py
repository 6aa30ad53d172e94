"""A session with a key that cannot be used goes on without it."""

from __future__ import annotations

import structlog

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions

log = structlog.get_logger(__name__)


def mend(sessions: Sessions, reader: Reader, session: SessionKey) -> bool:
    """Move what is damaged beyond reading out of the session's way, and keep it for a person to look at.

    Returns whether there was anything; if Redis is away, nobody knows, and whoever meets it next tries again.
    """
    try:
        moved = sessions.set_aside(session)
        for told in moved:
            log.error("session.damaged", sessionKey=session, told=told)
            reader.quarantine(f"session {session}", told, "")
    except StoreUnavailable as error:
        log.warning("session.unmended", sessionKey=session, error=error.message)
        return False
    return bool(moved)
