"""Messages to chats as a JSON answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openclaw_workers.domain.outgoing import OutboxEntry, OutgoingState
from openclaw_workers.views.outbox import outbox_json

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation

LOOKED_AT = 10_000
"""A state is looked for among more messages than are shown."""


def outbox_answer(
    installation: Installation,
    limit: int,
    *,
    state: str | None = None,
    with_sent: bool = False,
    may_see: Callable[[OutboxEntry], bool] = lambda entry: True,
) -> dict[str, Any]:
    """Messages that wait, are unknown or failed, newest first; `with_sent`: also those sent or dropped of late."""
    store = installation.stores.outbox
    # Asking for sent messages implies wanting to see them.
    with_sent = with_sent or state in (OutgoingState.SENT, OutgoingState.DROPPED)
    found = store.entries(with_sent=with_sent, limit=max(limit, LOOKED_AT))
    wanted = [entry for entry in found if state in (None, entry.state) and may_see(entry)]
    return {"ok": True, **outbox_json(wanted[:limit], store.senders(), installation.stores.due.now_ms())}
