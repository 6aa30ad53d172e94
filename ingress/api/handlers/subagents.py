"""Sub-agents: list, read, stop, and deliver a blocked result again."""

from __future__ import annotations

from typing import Any

from ingress.api.access import session_key_of, subagent_of
from ingress.api.models.inputs import HistoryQuery, SubagentsQuery
from ingress.api.table import Call, NoInput
from openclaw_workers.domain.ids import BatchId
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.session_answers import transcript_page
from openclaw_workers.queries.subagent_answers import (
    retry_answer,
    session_of,
    states_of,
    stop_subagent_tree,
    stopped_answer,
    subagent_answer,
    subagents_answer,
)


def list_subagents(call: Call[SubagentsQuery, NoInput]) -> dict[str, Any]:
    query, place = call.query, call.context
    if query.session_key is not None:
        session_key_of(call, query.session_key)
    return subagents_answer(place, query.session_key, query.limit, live=query.live, agent=call.principal.agent)


def get_subagent(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return subagent_answer(call.context, subagent_of(call))


def get_log(call: Call[HistoryQuery, NoInput]) -> dict[str, Any]:
    key = session_of(call.context, subagent_of(call))
    entries, first = transcript_page(call.context, key, call.query.limit, call.query.before)
    return {"ok": True, "sessionKey": key, "entries": entries, "first": first}


def stop_subagent(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    run = subagent_of(call)
    ids = stop_subagent_tree(call.context, call.context.control, run)
    return stopped_answer(run, states_of(call.context, ids))


def retry_delivery(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """Of a sub-agent, or of a batch by its id."""
    wanted = call.path["id"]
    if not wanted.startswith("batch-"):
        return retry_answer(call.context, subagent_of(call).id)
    batch = call.context.stores.tree.batch(BatchId(wanted))
    if batch is None or not call.principal.may_see(batch.parent_session):
        raise NotFound(f"no batch {wanted}", hint="`ocw subagents list --live` shows what is not delivered")
    return retry_answer(call.context, wanted)
