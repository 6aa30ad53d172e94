"""Runs and trees: list, read, stop."""

from __future__ import annotations

from typing import Any

from ingress.api.access import run_of, session_key_of
from ingress.api.models.inputs import LimitQuery, RunsQuery, TreesQuery
from ingress.api.table import Call, NoInput
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.run_answers import journal_json, recent_runs, run_details, runs_answer, stop_answer
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.queries.trees import TreeQuery, recent_trees, trees_answer, trees_of


def list_runs(call: Call[RunsQuery, NoInput]) -> dict[str, Any]:
    query, place = call.query, call.context
    if query.session_key is not None:
        session_key_of(call, query.session_key)
    found = recent_runs(place, query.limit, session=query.session_key, state=query.state, agent=call.principal.agent)
    return runs_answer(place, found)


def get_run(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return {"ok": True, **run_details(call.context, run_of(call).id).as_json()}


def get_journal(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    found = run_details(call.context, run_of(call).id)
    return {"ok": True, "runId": found.run.id, "journal": journal_json(found.journal)}


def stop_run(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return stop_answer(call.context, call.context.control, run_of(call).id)


def get_tree(call: Call[LimitQuery, NoInput]) -> dict[str, Any]:
    """The tree below a run, or the trees of a session."""
    of = call.path["of"]
    if of.startswith("run-"):
        run = find_run(call.context, of)
        if not call.principal.may_see(run.session_key):
            raise NotFound(f"no run {of}")
    else:
        session_key_of(call, of)
    return trees_answer(call.context, TreeQuery(call.context, of, call.query.limit).read())


def list_active_trees(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """Those that have not settled, or else the last one."""
    roots = TreeQuery(call.context, None, 1).read()
    return trees_answer(call.context, [root for root in roots if call.principal.may_see(root.run.session_key)])


def list_trees(call: Call[TreesQuery, NoInput]) -> dict[str, Any]:
    if call.query.session_key is not None:
        session_key_of(call, call.query.session_key)
        key, _ = find_session(call.context, call.query.session_key)
        return trees_answer(call.context, trees_of(call.context, key)[: -call.query.limit - 1 : -1])
    return trees_answer(call.context, recent_trees(call.context, call.query.limit, call.principal.agent))
