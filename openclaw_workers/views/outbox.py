"""Messages to chats as JSON: what waits, what is not certain, and who sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.domain.outgoing import OutboxEntry, OutgoingState
from openclaw_workers.domain.shorten import one_line, shorten

PREVIEW_CHARS = 120
SENDER_ALIVE_MS = 10_000
"""A sender looks at the outbox every few seconds."""


def outbox_json(entries: Sequence[OutboxEntry], senders: Mapping[str, int], now_ms: int) -> dict[str, Any]:
    """docs/cli.md describes the fields. `senders`: when each account's sender last looked, by `channel|account`."""
    return {
        "messages": [entry_json(entry) for entry in entries],
        "senders": [sender_json(name, at, now_ms) for name, at in sorted(senders.items())],
    }


def entry_json(entry: OutboxEntry) -> dict[str, Any]:
    message, route = entry.message, entry.message.route
    return {
        "id": entry.id,
        "kind": message.kind,
        "state": entry.state,
        "channel": route.channel,
        "accountId": route.account_id,
        "to": route.to,
        "threadId": route.thread_id or None,
        "sessionKey": message.session_key or None,
        "runId": message.run_id or None,
        "preview": shorten(one_line(message.text), PREVIEW_CHARS),
        "parts": len(entry.parts),
        "partsSent": sum(part.state is OutgoingState.SENT for part in entry.parts),
        "attempts": entry.attempts,
        "createdAt": entry.created_at,
        "retryAt": entry.retry_at if entry.state is OutgoingState.QUEUED else None,
        "endedAt": entry.ended_at,
        "error": entry.error or None,
    }


def entry_details_json(entry: OutboxEntry, rendered: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One message with its text, its files, and how each part stands. `rendered`: the stored parts."""
    parts = [
        {
            "index": index,
            "state": part.state,
            "messageId": part.message_id or None,
            "at": part.at,
            "payload": dict(rendered[index].get("payload", {})) if index < len(rendered) else None,
        }
        for index, part in enumerate(entry.parts)
    ]
    files = [file.model_dump(by_alias=True) for file in entry.message.files]
    return {**entry_json(entry), "text": entry.message.text, "files": files, "partList": parts}


def sender_json(name: str, seen_at: int, now_ms: int) -> dict[str, Any]:
    channel, _, account = name.partition("|")
    alive = now_ms - seen_at < SENDER_ALIVE_MS
    return {"channel": channel, "accountId": account, "seenAt": seen_at, "alive": alive}
