"""The agents' memory: what is indexed, files, their lines, and searches."""

from __future__ import annotations

from typing import Any

from ingress.api.access import session_key_of
from ingress.api.models.memory import IndexInput, MemoryFileQuery, MemoryQuery, MemorySearchQuery
from ingress.api.table import Call, NoInput
from ingress.errors import HttpError
from openclaw_workers.queries import memory_answers as memory


def get_status(call: Call[MemoryQuery, NoInput]) -> dict[str, Any]:
    return memory.memory_status(call.context, _agent(call, call.query.agent_id))


def check(call: Call[MemoryQuery, NoInput]) -> dict[str, Any]:
    return memory.memory_checks(call.context, _agent(call, call.query.agent_id))


def list_files(call: Call[MemoryQuery, NoInput]) -> dict[str, Any]:
    return memory.memory_files_answer(call.context, _agent(call, call.query.agent_id))


def get_file(call: Call[MemoryFileQuery, NoInput]) -> dict[str, Any]:
    query = call.query
    agent = _agent(call, query.agent_id)
    return memory.memory_lines(call.context, query.path, agent=agent, first=query.first, count=query.lines)


def search(call: Call[MemorySearchQuery, NoInput]) -> dict[str, Any]:
    query = call.query
    agent = _agent(call, query.agent_id)
    session = None if query.session_key is None else session_key_of(call, query.session_key)
    return memory.memory_search(
        call.context,
        query.query,
        agent=agent,
        session=session,
        limit=query.limit,
        sources=[query.source] if query.source else [],
    )


def index(call: Call[NoInput, IndexInput]) -> dict[str, Any]:
    return memory.memory_index(call.context, _agent(call, call.body.agent_id), force=call.body.force)


def _agent(call: Call[Any, Any], wanted: str | None) -> str | None:
    """The agent that is asked about; a token for one agent sees no other.

    Raises:
        HttpError: 403 for a token of another agent, or of a person: what that person may find is not known here.
    """
    principal = call.principal
    if principal.person is not None or (principal.agent is not None and wanted not in (None, principal.agent)):
        raise HttpError(403, "this token does not see this memory")
    return wanted or principal.agent
