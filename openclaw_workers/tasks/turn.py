"""The Celery tasks that run turns: idempotent, with ids as arguments. What they return is only shown."""

from __future__ import annotations

from typing import Any

import structlog
from celery import Task
from celery.exceptions import Ignore

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.stored_json import check_form
from openclaw_workers.engine.wake import named
from openclaw_workers.errors import NewerRecord, StoreUnavailable
from openclaw_workers.logs import run_context
from openclaw_workers.store.wake_messages import SCHEMA_HEADER
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.run_states import answered, result_of
from openclaw_workers.tasks.signals import current_worker
from openclaw_workers.tasks.waker import SUBAGENT, TURN

log = structlog.get_logger(__name__)


@app.task(name=TURN, bind=True, ignore_result=True)
def turn(self: Task[Any, Any], session: str, run: str) -> dict[str, str]:
    """Run a session's turn. Safe to deliver any number of times.

    A delivery that finds nothing to do, or hands the run over, raises Ignore: Flower must not show a run as done while
    another worker is still running it. If the run has ended meanwhile, whoever ended it, this delivery shows so.
    """
    state = _run(self, session, run)
    if state is RunState.OK:
        return answered(run)
    record = _record(run)
    if record is None or not record.state.is_final:
        raise Ignore
    return result_of(record)


@app.task(name=SUBAGENT, bind=True, ignore_result=True)
def subagent(self: Task[Any, Any], session: str, run: str) -> dict[str, str]:
    """Run a child's turn, as one header task of its batch's chord. Safe to deliver any number of times.

    It returns only when the child and all it spawned has settled (rule 1), and never raises: the chord counts returns,
    and the records are the truth.
    """
    state = _run(self, session, run, is_header=True)
    if state is RunState.OK:
        return answered(run)
    record = _record(run)
    if record is None or record.settled_at is None:
        raise Ignore
    return result_of(record)


def _run(task: Task[Any, Any], session: str, run: str, *, is_header: bool = False) -> RunState | None:
    key, run_id = SessionKey(session), RunId(run)
    with run_context(**named(key, run_id)):
        try:
            check_form(task.request.get(SCHEMA_HEADER), "a wake-up")
        except NewerRecord as error:
            # Not published again: the sweep does so, in its own form, from the records.
            log.warning("task.newer", error=error.message, hint=error.hint)
            return None
        worker = current_worker()
        if worker.config.refusal:
            worker.pass_on(key, run_id)
            return None
        return worker.runner.run(key, run_id, is_header=is_header)


def _record(run: str) -> Run | None:
    try:
        return current_worker().reader.run(RunId(run))
    except StoreUnavailable:
        return None  # the sweep publishes the task again if the run has not ended
