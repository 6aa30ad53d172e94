"""The queue entry point of turns: thin, idempotent, ids in and nothing out."""

from __future__ import annotations

from typing import Any

import structlog
from celery import Task
from celery.exceptions import Ignore

from openclaw_workers.engine.wake import lane_of
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.session_key import agent_of
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.publish import TURN
from openclaw_workers.tasks.signals import current_worker


@app.task(name=TURN, bind=True, ignore_result=True)
def turn(self: Task[Any, Any], session: str, run: str) -> None:
    """Carry a session's run as far as it will go. Safe to deliver any number of times.

    A delivery that finds nothing to do raises Ignore, so that Flower does not show a run as done that someone else
    is still carrying.
    """
    key = SessionKey(session)
    lane = lane_of(key)
    context = {"runId": run, "sessionKey": session, "agentId": agent_of(key), "lane": str(lane)}
    with structlog.contextvars.bound_contextvars(**context, runKind="subagent" if lane == "subagent" else "main"):
        if not current_worker().runner.run(key, RunId(run)):
            raise Ignore
