"""Sub-agents as JSON answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.domain.ids import BatchId, RunId
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import SpawnMode
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.queries.subagents import find_subagent, subagent_index
from openclaw_workers.views.subagents import is_open, subagent_details_json, subagent_json

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.engine.control import Control
    from openclaw_workers.queries.installation import Installation


def subagents_answer(
    installation: Installation, key: str | None, limit: int, *, live: bool = False, agent: str | None = None
) -> dict[str, Any]:
    """The sub-agents below a session, or all, oldest first."""
    session = find_session(installation, key)[0] if key is not None else None
    index = subagent_index(installation)
    found = [run for _, run in index.below(session) if agent is None or run.agent_id == agent]
    # Cut before the batches are read, which costs one read each. With `live`, the batches decide what is shown.
    if not live:
        found = found[-limit:]
    batches = installation.trees.batches(run.batch for run in found if run.batch)
    if live:
        found = [run for run in found if is_open(run, batches)][-limit:]
    numbers = index.numbers
    listed = [subagent_json(run, batches.get(run.batch) if run.batch else None, numbers) for run in found]
    return {"ok": True, "subagents": listed}


def subagent_answer(installation: Installation, run: Run) -> dict[str, Any]:
    batch = installation.stores.tree.batch(run.batch) if run.batch else None
    details = subagent_details_json(run, batch, subagent_index(installation).numbers)
    return {"ok": True, **details, "threadId": thread_of(installation, run)}


def thread_of(installation: Installation, run: Run) -> str | None:
    row = installation.stores.reader.session(run.session_key) if run.spawn_mode is SpawnMode.SESSION else None
    return row.last_thread_id if row else None


def session_of(installation: Installation, run: Run) -> SessionKey:
    """The sub-agent's session.

    Raises:
        NotFound: it was removed.
    """
    if installation.stores.reader.session(run.session_key) is None:
        raise NotFound(
            f"the session of {run.label!r} was removed after its result was delivered",
            hint=f"its transcript is in the state directory; `ocw subagents info {run.id}` has the result",
        )
    return run.session_key


def stop_subagent_tree(installation: Installation, control: Control, run: Run) -> list[RunId]:
    """Stop a sub-agent and everything below it; return the runs that end.

    Raises:
        ConflictError: it was over.
    """
    below = [each for each in installation.trees.runs(run.session_key) if each.is_child and each.settled_at is None]
    if not below and run.settled_at is not None:
        raise ConflictError(
            f"{run.label!r} had already ended ({run.state}); nothing was stopped",
            hint=f"`ocw subagents info {run.id}` shows details",
        )
    # By session, because a sub-agent that has ended may still have children that run.
    control.stop_session(run.session_key)
    return list(dict.fromkeys([run.id, *(each.id for each in below)]))


def retry_answer(installation: Installation, wanted: str) -> dict[str, Any]:
    """Deliver a blocked result again; `wanted` is a sub-agent or a batch.

    Raises:
        NotFound: there is no such batch.
        ConflictError: it is not blocked.
    """
    batch_id = BatchId(wanted) if wanted.startswith("batch-") else find_subagent(installation, wanted).batch
    assert batch_id is not None, "a child has one"
    batch = installation.stores.tree.batch(batch_id)
    if batch is None:
        raise NotFound(f"no batch {batch_id}", hint="`ocw subagents list --live` shows what is not delivered")
    if not installation.stores.tree.retry(batch_id):
        raise ConflictError(f"{batch_id} is {batch.state}; there is nothing to deliver again")
    return {"ok": True, "batch": batch_id, "sessionKey": batch.parent_session}


def states_of(installation: Installation, runs: list[RunId]) -> dict[RunId, RunState]:
    return {each.id: each.state for each in installation.stores.reader.some_runs(runs)}


def stopped_answer(run: Run, states: dict[RunId, RunState]) -> dict[str, Any]:
    return {"ok": True, "runId": run.id, "childSessionKey": run.session_key, "runs": states}
