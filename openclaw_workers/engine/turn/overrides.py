"""What a session and a message change about their agent, as it is stored with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from openclaw_workers.config.base import Thinking
from openclaw_workers.config.resolve import Overrides
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.session_key import is_subagent
from openclaw_workers.errors import CorruptRecord


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of its work a session shows. The model is told, so that it does not explain it again."""

    reasoning: str = "off"
    verbose: str = "on"


def call_overrides(message: InboxEntry) -> Overrides:
    fallbacks = message.metadata.get("fallbacks")
    return Overrides(
        model=message.model,
        fallbacks=None if fallbacks is None else tuple(filter(None, fallbacks.split(","))),
        thinking=cast("Thinking | None", message.thinking),
        context_tokens=message.context_tokens,
        timeout_seconds=message.timeout_seconds,
    )


def session_overrides(session: SessionKey, row: dict[str, str]) -> Overrides:
    """Only the fields a turn obeys are read: parsing the whole row would cost more than the rest of preparing.

    Raises:
        CorruptRecord: one of them cannot be read.
    """
    model, tokens, thinking = row.get("modelOverride"), row.get("contextTokensOverride"), row.get("thinkingLevel")
    if model and row.get("providerOverride"):
        model = f"{row['providerOverride']}/{model}"
    if tokens and not tokens.isdigit():
        raise CorruptRecord(f"session {session}", f"contextTokensOverride is {tokens!r}, expected a number")
    if thinking and thinking not in get_args(Thinking):
        raise CorruptRecord(f"session {session}", f"thinkingLevel is {thinking!r}, expected {get_args(Thinking)}")
    workspace = row.get("spawnedWorkspaceDir")
    return Overrides(
        model=model,
        context_tokens=int(tokens) if tokens else None,
        thinking=cast("Thinking | None", thinking),
        workspace=Path(workspace) if workspace else None,
        is_subagent=is_subagent(session),
    )


def shown_in(row: dict[str, str]) -> Shown:
    return Shown(row.get("reasoningLevel") or "off", row.get("verboseLevel") or "on")
