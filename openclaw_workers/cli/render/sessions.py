"""A session as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic.alias_generators import to_snake

from openclaw_workers.cli.render.text import age, dollars, table
from openclaw_workers.domain.session_key import classify
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.store.llm.ledger import Total
from openclaw_workers.store.reader import SessionState
from openclaw_workers.views.sessions import session_levels


def session_table(found: Sequence[tuple[SessionEntry, SessionState]], main_key: str) -> str:
    head = ("SESSION", "KIND", "STATE", "WAITING", "TURNS", "TOKENS", "UPDATED")
    rows = [
        (
            row.session_key,
            classify(row.session_key, main_key=main_key),
            control.state,
            control.waiting,
            row.turns,
            row.total_tokens,
            age(row.updated_at),
        )
        for row, control in found
    ]
    return table(head, rows, right=("WAITING", "TURNS", "TOKENS"))


def session_lines(
    row: SessionEntry,
    control: SessionState,
    main_key: str,
    *,
    receipts: Mapping[str, int],
    spent: Total,
    thinking_default: str | None,
) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw sessions show` prints."""
    is_busy = control.state != "idle"
    levels = _levels(row, thinking_default)
    return [
        ("session", row.session_key),
        ("id", row.session_id),
        ("agent", row.agent_id),
        ("kind", classify(row.session_key, main_key=main_key)),
        ("state", f"{control.state} ({control.run})" if is_busy and control.run else control.state),
        ("worker", control.owner),
        ("waiting", f"{control.waiting} message(s)"),
        ("turns", row.turns),
        ("tokens", f"{row.input_tokens} in, {row.output_tokens} out, {row.context_tokens} in context"),
        ("cost", f"{dollars(spent.cost)} for {spent.calls} model call(s), {spent.failed} failed"),
        ("created", age(row.created_at)),
        ("updated", age(row.updated_at)),
        ("model", "/".join(part for part in (row.provider_override, row.model_override) if part)),
        ("thinking", levels["thinkingLevel"]),
        ("reasoning", levels["reasoningLevel"]),
        ("verbose", levels["verboseLevel"]),
        ("queue", row.queue_mode),
        ("channel", row.last_channel),
        ("spawned by", row.spawned_by),
        ("messages", ", ".join(f"{count} {state}" for state, count in sorted(receipts.items()))),
    ]


def _levels(row: SessionEntry, thinking_default: str | None) -> dict[str, str | None]:
    """The levels of the next turn. A level that the session does not set itself is marked as a default."""
    levels = session_levels(row, thinking_default)
    is_set = {name: bool(getattr(row, to_snake(name))) for name in levels}
    return {name: level if is_set[name] or not level else f"{level} (default)" for name, level in levels.items()}
