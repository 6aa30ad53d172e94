"""Sub-agents as JSON answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import Batch, SpawnMode
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.queries.subagents import subagent_index
from openclaw_workers.views.subagents import is_open, subagent_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.engine.control import Control
    from openclaw_workers.queries.installation import Installation

Numbered = list[tuple[int, Run]]


def list_subagents_below(
    place: Installation, key: str | None, limit: int, *, live: bool = False, agent: str | None = None
) -> tuple[Numbered, dict[BatchId, Batch]]:
    """The sub-agents below a session, or all, oldest first, with their numbers and batches."""
    session = find_session(place, key)[0] if key is not None else None
    found = [each for each in subagent_index(place).below(session) if agent is None or each[1].agent_id == agent]
    if not live:
        found = found[-limit:]
    batches = place.trees.batches(run.batch for _, run in found if run.batch)
    if live:
        found = [each for each in found if is_open(each[1], batches)][-limit:]
    return found, batches


def subagents_answer(found: Numbered, batches: dict[BatchId, Batch]) -> dict[str, Any]:
    listed = [subagent_json(run, batches.get(run.batch) if run.batch else None, number) for number, run in found]
    return {"ok": True, "subagents": listed}


def subagent_answer(place: Installation, run: Run) -> dict[str, Any]:
    batch = place.stores.tree.batch(run.batch) if run.batch else None
    number = subagent_index(place).numbers.get(run.id)
    return {"ok": True, **subagent_json(run, batch, number), "threadId": thread_of(place, run)}


def thread_of(place: Installation, run: Run) -> str | None:
    row = place.stores.reader.session(run.session_key) if run.spawn_mode is SpawnMode.SESSION else None
    return row.last_thread_id if row else None


def session_of(place: Installation, run: Run) -> SessionKey:
    """The sub-agent's session.

    Raises:
        NotFound: it was removed.
    """
    if place.stores.reader.session(run.session_key) is None:
        raise NotFound(
            f"the session of {run.label!r} was removed after its result was delivered",
            hint=f"its transcript is in the state directory; `ocw subagents info {run.id}` has the result",
        )
    return run.session_key


def stop_subagent_tree(place: Installation, control: Control, run: Run) -> list[RunId]:
    """Stop a sub-agent and everything below it; return the runs that end.

    Raises:
        ConflictError: it was over.
    """
    below = [each for each in place.trees.runs(run.session_key) if each.is_child and each.settled_at is None]
    if not below and run.settled_at is not None:
        raise ConflictError(
            f"{run.label!r} had already ended ({run.state}); nothing was stopped",
            hint=f"`ocw subagents info {run.id}` shows details",
        )
    control.stop_session(run.session_key)
    return list(dict.fromkeys([run.id, *(each.id for each in below)]))


def states_of(place: Installation, runs: list[RunId]) -> dict[RunId, RunState]:
    return {each.id: each.state for each in place.stores.reader.some_runs(runs)}


def stopped_answer(run: Run, states: dict[RunId, RunState]) -> dict[str, Any]:
    return {"ok": True, "runId": run.id, "childSessionKey": run.session_key, "runs": states}
