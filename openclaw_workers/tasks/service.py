"""Short tasks that must not wait behind turns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import structlog

from openclaw_workers.domain.ids import BatchId
from openclaw_workers.engine.retiring import retire
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.settings import loaded
from openclaw_workers.tasks.signals import current_worker
from openclaw_workers.tasks.waker import ANNOUNCE, ARCHIVE, PROMPT

log = structlog.get_logger(__name__)


@app.task(name=ARCHIVE, ignore_result=True)
def archive(archive_id: str) -> None:
    """Write a cut-off transcript to disk and clear up after a deleted child, then forget it in Redis. Doing it twice
    changes nothing."""
    sessions = current_worker().stores.sessions
    found = sessions.archive(archive_id)
    if found is None:
        return
    path = retire(loaded(), found)
    sessions.archived(archive_id)
    if path is not None:
        log.info("session.archived", sessionId=found.session_id, sessionKey=found.session_key, path=str(path))


@app.task(name=ANNOUNCE, ignore_result=True)
def announce(batch_id: str) -> None:
    """The body of a batch's chord: give its results to the parent. Too early or too often changes nothing."""
    current_worker().announcer.announce(BatchId(batch_id))


@app.task(name=PROMPT, ignore_result=False, resultrepr_maxsize=1)  # logs and Flower must not show it
def prompt(agent_id: str) -> dict[str, Any]:
    """An agent's system prompt as this worker would send it: the workspace is here, and not where it is asked for."""
    frame = current_worker().preparer.prompt(agent_id)
    return {**frame.report, "texts": [asdict(part) for part in frame.told]}
