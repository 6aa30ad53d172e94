"""Threads of a channel that belong to a session: what is said there goes to it, and its replies go there."""

from __future__ import annotations

from collections.abc import Mapping

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.store.sessions import Sessions

WANTED_THREAD = "sub-"
"""What the id of a thread begins with that a session waits for; the channel creates it and gives it another id."""


def session_in_thread(sessions: Sessions, route: Route) -> SessionKey | None:
    """The session bound to the thread a message was said in; None where it goes the usual way.

    Every channel asks this before it sorts a message by sender and chat. A session that was asked for by name goes
    first, so that is not looked at here.
    """
    return sessions.in_thread(route.address()) if route.thread_id else None


def thread_of(row: Mapping[str, str], uuid: str) -> Route:
    """A thread for a child with this uuid, on the channel where the session with this row was last spoken to."""
    return Route(
        channel=row.get("lastChannel", ""),
        to=row.get("lastTo", ""),
        account_id=row.get("lastAccountId", ""),
        thread_id=f"{WANTED_THREAD}{uuid[:8]}",
    )
