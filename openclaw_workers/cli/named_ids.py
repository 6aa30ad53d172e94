"""Which job, message, token or session is meant by what a person wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.domain.id_prefixes import LAST, pick_id

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext

_LOOKED_AT = 10_000


def job_named(cli: CliContext, wanted: str) -> str:
    return pick_id(wanted, [each["id"] for each in cli.backend.jobs()["jobs"]])


def outgoing_named(cli: CliContext, wanted: str) -> str:
    found = cli.backend.outbox(_LOOKED_AT, None, with_sent=True)["messages"]
    # The list is in the order of their last changes.
    newest_first = sorted(found, key=lambda each: each["createdAt"], reverse=True)
    return pick_id(wanted, [each["id"] for each in newest_first])


def token_named(cli: CliContext, wanted: str) -> str:
    return pick_id(wanted, [each["id"] for each in reversed(cli.backend.tokens()["tokens"])])


def session_named(cli: CliContext, wanted: str) -> str:
    """`last` is the session that was used last, unless a session has that name."""
    if wanted != LAST:
        return wanted
    found = [each["sessionKey"] for each in cli.backend.sessions(_LOOKED_AT, None)["sessions"]]
    named = [key for key in found if key.endswith(f":{LAST}")]
    return next(iter([*named, *found]), wanted)
