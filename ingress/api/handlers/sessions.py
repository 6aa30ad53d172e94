"""Sessions: list, find, read, change, reset, delete."""

from __future__ import annotations

from typing import Any

from ingress.api.access import existing_key, require_unbound, session_key_of
from ingress.api.models.inputs import (
    CleanupInput,
    HistoryQuery,
    ResolveQuery,
    SessionPatch,
    SessionsQuery,
    SessionTreesQuery,
)
from ingress.api.table import Call, NoInput
from openclaw_workers.engine.sessions.row_patch import row_fields
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.queries.session_answers import (
    recent_sessions,
    session_details,
    sessions_answer,
    transcript_page,
)
from openclaw_workers.queries.session_cleanup import cleanup_answer
from openclaw_workers.queries.sessions import check_label_is_free, find_session
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json


def list_sessions(call: Call[SessionsQuery, NoInput]) -> dict[str, Any]:
    query, installation = call.query, call.context
    agent = call.principal.agent or query.agent_id
    found = recent_sessions(installation, query.limit, agent, label=query.label, key=query.key, offset=query.offset)
    return sessions_answer(installation, found)


def session_trees(call: Call[SessionTreesQuery, NoInput]) -> dict[str, Any]:
    reader = call.context.stores.reader
    wanted = None
    if call.query.key is not None:
        session_key_of(call, call.query.key)
        wanted, _ = find_session(call.context, call.query.key)
    # Filtered before the trees are built, so that a hidden parent does not show even as a root.
    rows = [row for row in reader.each_session(500) if call.principal.may_see(row.session_key)]
    main_key = call.context.session_rules.main_key
    trees = [session_tree_json(root, reader.control, main_key) for root in build_session_trees(rows, wanted)]
    return {"ok": True, "sessions": trees, "unreadable": reader.unreadable}


def resolve_session(call: Call[ResolveQuery, NoInput]) -> dict[str, Any]:
    query, installation = call.query, call.context
    if (query.key is None) == (query.label is None):
        raise BadInput("expected either key or label")
    if query.key is not None:
        return _details(call, session_key_of(call, query.key))
    # Two are enough to see that the label is not unique.
    found = recent_sessions(installation, 2, call.principal.agent, label=query.label)
    if len(found) != 1:
        raise (BadInput if found else NotFound)(f"{len(found) or 'no'} sessions have the label {query.label!r}")
    return _details(call, found[0][0].session_key)


def get_session(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return _details(call, session_key_of(call))


def patch_session(call: Call[NoInput, SessionPatch]) -> dict[str, Any]:
    installation, key = call.context, existing_key(call)
    wanted = call.body.model_dump(by_alias=True, exclude_unset=True)
    fields = row_fields(installation.settings, key, wanted, call.principal.authority)
    check_label_is_free(installation, key, fields.get("label", ""))
    # It may have been deleted since `existing_key`, and a write must not create it again (rule 19).
    if fields and not installation.stores.sessions.patch(key, fields):
        raise NotFound(f"no session {key}")
    return _details(call, key)


def reset_session(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    installation, key = call.context, existing_key(call)
    before = installation.stores.reader.session(key)
    installation.control.reset(key)
    after = installation.stores.reader.session(key)
    return {
        "ok": True,
        "sessionKey": key,
        "sessionId": after and after.session_id,
        "previousSessionId": before and before.session_id,
    }


def delete_session(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    key = existing_key(call)
    call.context.control.delete(key)
    return {"ok": True, "sessionKey": key}


def clean_up(call: Call[NoInput, CleanupInput]) -> dict[str, Any]:
    require_unbound(call, "clean up sessions")
    context = call.context
    return cleanup_answer(context, context.waker, context.archives, is_dry=call.body.dry_run)


def get_history(call: Call[HistoryQuery, NoInput]) -> dict[str, Any]:
    session_key_of(call)
    key, _ = find_session(call.context, call.path["key"])
    entries, first = transcript_page(call.context, key, call.query.limit, call.query.before)
    return {"ok": True, "sessionKey": key, "entries": entries, "first": first}


def get_queue(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    key, stores = existing_key(call), call.context.stores
    control = stores.reader.control(key)
    waiting = [
        {
            "messageId": entry.id,
            "text": entry.text,
            "sender": entry.sender,
            "kind": entry.kind,
            "mode": entry.mode,
            "acceptedAt": entry.accepted_at,
        }
        for entry in stores.inbox.waiting(key)
    ]
    run = control.run if control.state != "idle" else None
    return {"ok": True, "sessionKey": key, "state": control.state, "runId": run or None, "waiting": waiting}


def _details(call: Call[Any, Any], key: str) -> dict[str, Any]:
    found = session_details(call.context, key)
    return {"ok": True, **found.as_json(call.context.session_rules.main_key)}
