"""A session as people and programs see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_snake

from openclaw_workers.cli.output import age, dollars, now_ms
from openclaw_workers.domain.session_key import classify
from openclaw_workers.errors import NotFound
from openclaw_workers.store.llm.ledger import Ledger, Total

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.session_row import SessionEntry
    from openclaw_workers.store.reader import SessionState


DAY_MS = 86_400_000


def session_kind(cli: CliContext, row: SessionEntry) -> str:
    return classify(row.session_key, main_key=cli.loaded.settings.session.main_key)


def session_json(cli: CliContext, row: SessionEntry, control: SessionState) -> dict[str, Any]:
    """A session as JSON; docs/cli.md lists the fields."""
    busy = control.state != "idle"
    return {
        "sessionKey": row.session_key,
        "sessionId": row.session_id,
        "agentId": row.agent_id,
        "kind": session_kind(cli, row),
        "state": control.state,
        "runId": (control.run or None) if busy else None,
        "worker": control.owner or None,
        "leaseUntil": control.lease_until or None,
        "waiting": control.waiting,
        "turns": row.turns,
        "tokens": row.total_tokens,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    }


def session_levels(cli: CliContext, row: SessionEntry) -> dict[str, str | None]:
    """How its next turn thinks and how much it shows, whether that was set or is the default."""
    from openclaw_workers.config.resolve import resolve_agent

    try:
        thinking: str | None = resolve_agent(cli.loaded.settings, row.agent_id).thinking_default
    except NotFound:
        thinking = None  # its agent is no longer configured
    return {
        "thinkingLevel": row.thinking_level or thinking,
        "reasoningLevel": row.reasoning_level or "off",
        "verboseLevel": row.verbose_level or "on",
    }


def session_cost(cli: CliContext, row: SessionEntry) -> Total:
    """What its model calls took since the session began, as far back as the ledger goes."""
    began = row.session_started_at
    total = Total(row.session_key)
    for call in Ledger(cli.stores.redis, cli.stores.keys).calls(1 + (now_ms() - began) // DAY_MS + 1):
        if call.session == row.session_key and call.at >= began:
            total.add(call)
    return total


def session_shown(cli: CliContext, row: SessionEntry, control: SessionState, spent: Total) -> list[tuple[str, object]]:
    busy = control.state != "idle"
    model = "/".join(part for part in (row.provider_override, row.model_override) if part)
    levels = session_levels(cli, row)
    set_here = {name for name in levels if getattr(row, to_snake(name))}
    told = {name: level if name in set_here or not level else f"{level} (default)" for name, level in levels.items()}
    return [
        ("session", row.session_key),
        ("id", row.session_id),
        ("agent", row.agent_id),
        ("kind", session_kind(cli, row)),
        ("state", f"{control.state} ({control.run})" if busy and control.run else control.state),
        ("worker", control.owner),
        ("waiting", f"{control.waiting} message(s)"),
        ("turns", row.turns),
        ("tokens", f"{row.input_tokens} in, {row.output_tokens} out, {row.context_tokens} in context"),
        ("cost", f"{dollars(spent.cost)} for {spent.calls} model call(s), {spent.failed} failed"),
        ("created", age(row.created_at)),
        ("updated", age(row.updated_at)),
        ("model", model),
        ("thinking", told["thinkingLevel"]),
        ("reasoning", told["reasoningLevel"]),
        ("verbose", told["verboseLevel"]),
        ("queue", row.queue_mode),
        ("channel", row.last_channel),
        ("spawned by", row.spawned_by),
    ]
