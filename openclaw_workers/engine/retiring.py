"""What is done on disk when a life of a session is over: its transcript is written out, a child's files are removed."""

from __future__ import annotations

from pathlib import Path

from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import workspace_dir
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import is_subagent
from openclaw_workers.engine.archive import write_archive
from openclaw_workers.engine.tree.child import files_dir
from openclaw_workers.errors import NotFound
from openclaw_workers.store.sessions import Archive
from openclaw_workers.tools.files.task_files import remove_task_files


def retire(loaded: Loaded, archive: Archive) -> Path | None:
    """Doing it twice changes nothing. Returns where the transcript lies, if there was one."""
    own = _workspace(loaded, archive.agent_id)
    path = write_archive(loaded.state_dir, archive, cwd=str(own)) if archive.entries else None
    if archive.is_deleted and is_subagent(archive.session_key):
        remove_task_files(
            Path(archive.workspace) if archive.workspace else own, files_dir(SessionKey(archive.session_key))
        )
    return path


def _workspace(loaded: Loaded, agent_id: str) -> Path:
    try:
        return workspace_dir(loaded.settings, agent_id, loaded.state_dir)
    except NotFound:  # it was taken out of the configuration; what its sessions said is kept all the same
        return loaded.state_dir / f"workspace-{agent_id}"
