"""What a principal may see: a token bound to an agent sees that agent, and of others not even that they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingress.errors import HttpError
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.sessions import find_key, named_key
from openclaw_workers.queries.subagents import find_subagent

if TYPE_CHECKING:
    from ingress.api.table import Call
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.domain.runs import Run


def session_key_of(call: Call[Any, Any], wanted: str | None = None) -> SessionKey:
    """The key that was named, whether there is such a session or not."""
    key = named_key(call.context, call.path["key"] if wanted is None else wanted)
    if not call.principal.may_see(key):
        raise NotFound(f"no session {key}")
    return key


def existing_key(call: Call[Any, Any]) -> SessionKey:
    """The key of a session that exists, even if its row is damaged."""
    session_key_of(call)
    return find_key(call.context, call.path["key"])


def run_of(call: Call[Any, Any]) -> Run:
    run = find_run(call.context, call.path["id"])
    if not call.principal.may_see(run.session_key):
        raise NotFound(f"no run {run.id}")
    return run


def subagent_of(call: Call[Any, Any]) -> Run:
    wanted = call.path["id"]
    run = find_subagent(call.context, wanted)
    if not call.principal.may_see(run.session_key):
        raise NotFound(f"no sub-agent {wanted!r}")
    return run


def require_unbound(call: Call[Any, Any], what: str) -> None:
    """See that a token is for the whole installation. `what` it would do, as in "a token does not …".

    Raises:
        HttpError: 403 for one that is bound to an agent or a person.
    """
    if call.principal.agent is not None or call.principal.person is not None:
        raise HttpError(403, f"a token that is bound to an agent or a person cannot {what}")


def agent_of_call(call: Call[Any, Any], wanted: str | None) -> str | None:
    """The agent that is asked about: the named one, or the only one that the token sees.

    Raises:
        NotFound: the token does not see it.
    """
    bound = call.principal.agent
    if bound is not None and wanted is not None and wanted.lower() != bound:
        raise NotFound(f"no agent {wanted!r}")
    return wanted or bound


def maker_of(call: Call[Any, Any]) -> str:
    """Who changes something, for its record."""
    return f"token {call.principal.token_id}" if call.principal.token_id else "http"
