"""Messages to chats: list, read, send again, drop."""

from __future__ import annotations

from typing import Any

from ingress.api.models.inputs import OutboxQuery
from ingress.api.table import Call, NoInput
from openclaw_workers.domain.outgoing import OutboxEntry
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.outbox_answers import outbox_answer
from openclaw_workers.views.outbox import entry_details_json, entry_json


def list_messages(call: Call[OutboxQuery, NoInput]) -> dict[str, Any]:
    query = call.query
    return outbox_answer(
        call.context, query.limit, state=query.state, with_sent=query.all, may_see=lambda entry: _may_see(call, entry)
    )


def get_message(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    entry, rendered = call.context.stores.outbox.get(call.path["id"])
    return {"ok": True, **entry_details_json(_seen(call, entry), rendered)}


def retry_message(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _settle(call, call.context.stores.outbox.retry)


def drop_message(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _settle(call, call.context.stores.outbox.drop)


def _settle(call: Call[NoInput, NoInput], settle: Any) -> dict[str, Any]:
    store, ident = call.context.stores.outbox, call.path["id"]
    _seen(call, store.get(ident)[0])
    settle(ident)
    return {"ok": True, **entry_json(store.get(ident)[0])}


def _seen(call: Call[Any, Any], entry: OutboxEntry) -> OutboxEntry:
    if not _may_see(call, entry):
        raise NotFound(f"no message {call.path['id']}")
    return entry


def _may_see(call: Call[Any, Any], entry: OutboxEntry) -> bool:
    """A message without a session belongs to no agent; only tokens for all agents see it."""
    session = entry.message.session_key
    return call.principal.may_see(session) if session else call.principal.agent is None
