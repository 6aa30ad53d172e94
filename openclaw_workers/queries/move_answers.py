"""Moves of an agent's files as JSON answers: begin one, look at it, cancel it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import placed_workspaces, resolve_agent_id
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.engine.shell.agent_commands import AgentCommands
from openclaw_workers.errors import BadInput, ConflictError, NotFound, OpenClawError

if TYPE_CHECKING:
    from openclaw_workers.domain.worker_info import WorkerInfo
    from openclaw_workers.queries.installation import Installation
    from openclaw_workers.store.moves import Move


def begin_move(installation: Installation, agent: str, to_host: str, *, with_files: bool) -> Move:
    """Begin to move an agent's files; a move to the same host that is under way is gone on with.

    Raises:
        NotFound: there is no such agent or host, or the agent has no files yet.
        BadInput: the agent has no place, or the host has it already.
        ConflictError: a turn or a background command of the agent is running, its files are being moved elsewhere, or
            nobody can send them.
    """
    agent_id, stores = _placed(installation, agent), installation.stores
    current = stores.moves.current(agent_id)
    # Repeating the command is how a person looks at a move after losing the connection.
    if current is not None and current.to_host == to_host and current.with_files == with_files:
        return current
    alive = [each for each in stores.workers.all() if each.alive and _serves(each)]
    hosts = sorted({each.facts.get("host", "") for each in alive})
    if to_host not in hosts:
        hint = did_you_mean(to_host, hosts) or f"hosts with one: {', '.join(hosts) or 'none'}"
        raise NotFound(f"no live service worker on the host {to_host!r}", hint=hint)
    without = {each.facts.get("host", "") for each in alive if agent_id in each.facts.get("cannot_serve", "").split()}
    bound = stores.places.of(agent_id)
    if bound is not None and not bound.is_moving and to_host not in without:
        raise BadInput(f"{to_host} sees the files of agent {agent_id} already", hint="`ocw status` shows who does not")
    # Files can be sent only by a worker that sees them.
    if with_files and current is None and not set(hosts) - without:
        where = bound.where if bound else ""
        hint = f"start `ocw up` at {where}, or begin with an empty workspace: --without-files"
        raise ConflictError(f"no live service worker sees the files of agent {agent_id}", hint=hint)
    commands = AgentCommands(stores.workers, PlaceClient(stores.place_requests), agent_id)
    commands.refuse_running()
    move = stores.moves.begin(agent_id, to_host, uuid.uuid4().hex, with_files=with_files)
    try:
        commands.refuse_running()  # the last turn may have left one; from now on none begins
    except OpenClawError:
        stores.moves.end(move, "cancelled")
        raise
    return move


def current_move(installation: Installation, agent: str) -> Move:
    """The move of an agent's files that is under way.

    Raises:
        NotFound: there is none.
    """
    agent_id = resolve_agent_id(installation.loaded.settings, explicit=agent)
    found = installation.stores.moves.current(agent_id)
    if found is None:
        raise NotFound(
            f"the files of agent {agent_id} are not being moved", hint=f"`ocw agents move {agent_id} --to HOST` does so"
        )
    return found


def cancel_move(installation: Installation, agent: str) -> Move:
    """End a move; the agent keeps its old files.

    Raises:
        NotFound: there is none.
        ConflictError: it has just ended otherwise.
    """
    move = current_move(installation, agent)
    if not installation.stores.moves.end(move, "cancelled"):
        raise ConflictError(
            f"the move of agent {move.agent_id} is over: {installation.stores.moves.get(move.id).state}"
        )
    return installation.stores.moves.get(move.id)


def move_answer(installation: Installation, move_id: str) -> dict[str, Any]:
    """How far a move is.

    Raises:
        NotFound: there is none of that id.
    """
    now = installation.stores.moves.get(move_id)
    return {
        "ok": now.state in ("copying", "done", "cancelled"),
        "id": now.id,
        "agentId": now.agent_id,
        "toHost": now.to_host,
        "withFiles": now.with_files,
        "state": now.state,
        "files": now.files,
        "filesDone": now.files_done,
        "bytesDone": now.bytes_done,
        "waits": now.waits or None,
        "keptAt": now.kept_at or None,
        "error": now.error or None,
        "beganAt": now.began_at,
        "endedAt": now.ended_at,
    }


def _placed(installation: Installation, agent: str) -> str:
    settings = installation.loaded.settings
    agent_id = resolve_agent_id(settings, explicit=agent)
    if agent_id not in placed_workspaces(settings, installation.loaded.state_dir):
        raise BadInput(f"agent {agent_id} runs anywhere: its workspace.place is any", hint="there is nothing to move")
    return agent_id


def _serves(worker: WorkerInfo) -> bool:
    return Lane.SERVICE in worker.facts.get("lane", "").split(",")
