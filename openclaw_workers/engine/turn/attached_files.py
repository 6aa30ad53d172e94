"""The files that a sub-agent was given, in its workspace before its turn."""

from __future__ import annotations

from pathlib import Path

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.store.tree import Tree
from openclaw_workers.tools.files.task_files import write_task_files


def write_attached_files(tree: Tree, session: SessionKey, workspace: Path) -> None:
    if attached := tree.files(session):
        write_task_files(workspace, files_dir(session), attached)
