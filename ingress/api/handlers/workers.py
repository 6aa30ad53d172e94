"""What workers have loaded and connected, orders and questions to them, and the machine of the ingress."""

from __future__ import annotations

from typing import Any

from ingress.api.access import require_unbound, session_key_of
from ingress.api.models.workers import MoveInput, PruneInput, SandboxQuery, ToolsQuery, WorkersInput
from ingress.api.table import Call, NoInput
from openclaw_workers.queries import move_answers as moves
from openclaw_workers.queries.drained_workers import drain_answer, undrain_answer
from openclaw_workers.queries.machine_answers import machine_answer
from openclaw_workers.queries.service_workers import (
    require_service_worker,
    sandbox_answer,
    tool_answer,
    tools_answer,
)
from openclaw_workers.queries.worker_answers import mcp_answer, plugin_check, plugins_answer


def list_plugins(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return plugins_answer(call.context)


def check_plugins(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return plugin_check(call.context)


def mcp_status(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return mcp_answer(call.context)


def drain(call: Call[NoInput, WorkersInput]) -> dict[str, Any]:
    require_unbound(call, "drain workers")
    return drain_answer(call.context.stores.workers, call.body.name)


def undrain(call: Call[NoInput, WorkersInput]) -> dict[str, Any]:
    require_unbound(call, "undrain workers")
    return undrain_answer(call.context.stores.workers, call.body.name)


def list_tools(call: Call[ToolsQuery, NoInput]) -> dict[str, Any]:
    session = session_key_of(call, call.query.session_key)
    return tools_answer(call.context, session, call.query.authority, call.context.celery().tools)


def explain_tool(call: Call[ToolsQuery, NoInput]) -> dict[str, Any]:
    session = session_key_of(call, call.query.session_key)
    return tool_answer(call.context, call.path["tool"], session, call.query.authority, call.context.celery().tools)


def explain_sandbox(call: Call[SandboxQuery, NoInput]) -> dict[str, Any]:
    session = session_key_of(call, call.query.session_key)
    return sandbox_answer(call.context, session, call.context.celery().sandbox)


def list_sandboxes(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """Those of the service worker that answers: the ingress may be on another machine."""
    require_service_worker(call.context)
    answer, agent = call.context.celery().sandboxes(), call.principal.agent
    return {**answer, "sandboxes": [each for each in answer["sandboxes"] if agent in (None, each["agentId"])]}


def prune_sandboxes(call: Call[NoInput, PruneInput]) -> dict[str, Any]:
    require_unbound(call, "delete sandboxes")
    require_service_worker(call.context)
    return call.context.celery().prune_sandboxes(call.body.all)


def get_machine(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return machine_answer(call.context)


def begin_move(call: Call[NoInput, MoveInput]) -> dict[str, Any]:
    require_unbound(call, "move files")
    move = moves.begin_move(call.context, call.path["id"], call.body.to, with_files=call.body.with_files)
    return moves.move_answer(call.context, move.id)


def get_move(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "see moves of files")
    return moves.move_answer(call.context, moves.current_move(call.context, call.path["id"]).id)


def cancel_move(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "move files")
    return moves.move_answer(call.context, moves.cancel_move(call.context, call.path["id"]).id)


def get_move_state(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "see moves of files")
    return moves.move_answer(call.context, call.path["id"])
