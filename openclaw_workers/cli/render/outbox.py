"""Messages to chats as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.text import age, field_list, table

SHOWN_CHARS = 60


def outbox_table(messages: Sequence[Mapping[str, Any]]) -> str:
    head = ("MESSAGE", "STATE", "KIND", "CHAT", "AGE", "PARTS", "TEXT")
    rows = [
        (
            each["id"],
            each["state"],
            each["kind"],
            _chat(each),
            age(each["createdAt"]),
            f"{each['partsSent']}/{each['parts']}" if each["parts"] else "-",
            each["error"] or each["preview"][:SHOWN_CHARS],
        )
        for each in messages
    ]
    return table(head, rows, cut=("TEXT", "CHAT"))


def outbox_details(message: Mapping[str, Any]) -> str:
    parts = [(f"part {part['index'] + 1}", _part(part)) for part in message["partList"]]
    files = [f"{file['name']} ({file['size']:,} bytes)" for file in message["files"]]
    return field_list(
        [
            ("message", message["id"]),
            ("state", message["state"]),
            ("kind", message["kind"]),
            ("chat", _chat(message)),
            ("session", message["sessionKey"]),
            ("run", message["runId"]),
            ("created", age(message["createdAt"])),
            ("ended", age(message["endedAt"]) if message["endedAt"] else None),
            ("attempts", message["attempts"] or None),
            ("error", message["error"]),
            *parts,
            ("files", ", ".join(files)),
            ("text", message["text"]),
        ]
    )


def missing_senders(outbox: Mapping[str, Any]) -> Iterator[str]:
    """A line for each account with waiting messages that nobody sends."""
    alive = {(each["channel"], each["accountId"]) for each in outbox["senders"] if each["alive"]}
    waiting = [each for each in outbox["messages"] if each["state"] in ("queued", "sending")]
    for channel, account in sorted({(each["channel"], each["accountId"]) for each in waiting} - alive):
        name = f"{channel} account {account}" if account else channel
        yield f"nobody sends for {name}: no ingress with this channel has looked for ten seconds"


def _chat(message: Mapping[str, Any]) -> str:
    return "/".join(filter(None, [message["channel"], message["accountId"], message["to"], message["threadId"]]))


def _part(part: Mapping[str, Any]) -> str:
    sent = f", message {part['messageId']}" if part["messageId"] else ""
    return f"{part['state'] or 'not sent'}{sent}"
