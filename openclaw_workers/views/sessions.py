"""A session as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openclaw_workers.domain.events import SessionState
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.session_key import classify
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.store.llm.ledger import Total


def session_json(row: SessionEntry, control: SessionState, main_key: str) -> dict[str, Any]:
    """docs/cli.md describes the fields. `main_key` is the configured short name of main sessions."""
    is_busy = control.state != "idle"
    return {
        "sessionKey": row.session_key,
        "sessionId": row.session_id,
        "agentId": row.agent_id,
        "kind": classify(row.session_key, main_key=main_key),
        "label": row.label,
        "displayName": row.display_name,
        "channel": row.channel or row.last_channel,
        "state": control.state,
        "runId": (control.run or None) if is_busy else None,
        "worker": control.owner or None,
        "leaseUntil": control.lease_until or None,
        "waiting": control.waiting,
        "waitsFor": control.waits_for or None,
        "turns": row.turns,
        "tokens": row.total_tokens,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    }


def session_details_json(
    row: SessionEntry,
    control: SessionState,
    main_key: str,
    *,
    receipts: Mapping[str, int],
    damaged: Sequence[Mapping[str, Any]],
    spent: Total,
    thinking_default: str | None,
) -> dict[str, Any]:
    """One session with everything but its transcript."""
    return {
        **session_json(row, control, main_key),
        "receipts": dict(receipts),
        "quarantined": list(damaged),
        "cost": spent.cost,
        "modelCalls": spent.calls,
        "failedCalls": spent.failed,
        "unpricedCalls": spent.unpriced,
        **session_levels(row, thinking_default),
        "row": row.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def session_levels(row: SessionEntry, thinking_default: str | None) -> dict[str, str | None]:
    """The levels that hold for the next turn: those set in the session, or else the defaults."""
    return {
        "thinkingLevel": row.thinking_level or thinking_default,
        "reasoningLevel": row.reasoning_level or "off",
        "verboseLevel": row.verbose_level or "on",
    }


def session_cost(row: SessionEntry, calls: Iterable[ModelCall]) -> Total:
    """The sum of the session's model calls since it was created or last reset."""
    total = Total(row.session_key)
    for call in calls:
        if call.session == row.session_key and call.at >= row.session_started_at:
            total.add(call)
    return total
