"""The queue entry point of turns: thin, idempotent, ids in and nothing out."""

from __future__ import annotations

from typing import Any

from celery import Task
from celery.exceptions import Ignore

from openclaw_workers.engine.wake import lane_of
from openclaw_workers.logs import run_context
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.runs import Lane, RunState
from openclaw_workers.models.session_key import agent_of
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.publish import TURN
from openclaw_workers.tasks.signals import current_worker


class TurnNotAnswered(Exception):
    """The run ended without an answer. It is recorded and told already; raised so that Flower shows it as failed."""


@app.task(name=TURN, bind=True, ignore_result=True, throws=(TurnNotAnswered,))
def turn(self: Task[Any, Any], session: str, run: str) -> None:
    """Carry a session's run as far as it will go. Safe to deliver any number of times.

    A delivery that finds nothing to do, or hands the run over, raises Ignore: Flower must not show a run as done that
    someone else is still carrying.
    """
    key = SessionKey(session)
    lane = lane_of(key)
    kind = "subagent" if lane is Lane.SUBAGENT else "main"
    with run_context(runId=run, sessionKey=session, agentId=agent_of(key), lane=lane, runKind=kind):
        state = current_worker().runner.run(key, RunId(run))
    if state is None:
        raise Ignore
    if state is not RunState.OK:
        raise TurnNotAnswered(state.value)
