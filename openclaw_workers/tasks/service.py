"""Short tasks that must not wait behind turns."""

from __future__ import annotations

import structlog

from openclaw_workers.config.resolve import workspace_dir
from openclaw_workers.engine.archive import write_archive
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.publish import ARCHIVE
from openclaw_workers.tasks.settings import loaded
from openclaw_workers.tasks.signals import current_worker

log = structlog.get_logger(__name__)


@app.task(name=ARCHIVE, ignore_result=True)
def archive(archive_id: str) -> None:
    """Write a cut-off transcript to disk, then forget it in Redis. Doing it twice changes nothing."""
    sessions = current_worker().stores.sessions
    found = sessions.archive(archive_id)
    if found is None:
        return
    configured = loaded()
    cwd = workspace_dir(configured.settings, found.agent_id, configured.state_dir)
    path = write_archive(configured.state_dir, found, cwd=str(cwd))
    sessions.archived(archive_id)
    log.info("session.archived", sessionId=found.session_id, sessionKey=found.session_key, path=str(path))
