"""Writing transcripts out as JSONL in OpenClaw's layout, when a session ends and whenever someone asks."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openclaw_workers.clock import iso
from openclaw_workers.domain.session_key import parse_key
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.store.sessions import Archive

FORMAT_VERSION = 2
_SAFE = re.compile(r"[^A-Za-z0-9._-]")


def sessions_dir(root: Path, agent_id: str) -> Path:
    return root / "agents" / agent_id / "sessions"


def transcript_name(session_id: str, session_key: str) -> str:
    """`<sessionId>.jsonl`, with the topic in the name where the session is one."""
    topic = parse_key(session_key).topic_id
    return f"{session_id}-topic-{_SAFE.sub('_', topic)}.jsonl" if topic else f"{session_id}.jsonl"


def write_transcript(path: Path, *, session_id: str, started_at: int, cwd: str, entries: Iterable[str]) -> None:
    """Header line, then the stored entries as they are. Replaces the file at once or not at all."""
    header = {
        "type": "session",
        "version": FORMAT_VERSION,
        "id": session_id,
        "timestamp": iso(started_at),
        "cwd": cwd,
    }
    _write(path, [json.dumps(header), *entries])


def write_archive(root: Path, archive: Archive, *, cwd: str) -> Path:
    """Write a cut-off transcript, and late results behind it, whichever comes first; twice gives the same file."""
    path = sessions_dir(root, archive.agent_id) / transcript_name(archive.session_id, archive.session_key)
    # Not by splitlines, which takes a U+2028 within what someone said for the end of a line.
    before = path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []
    if archive.late and before:
        _write(path, [*before, *(entry for entry in archive.entries if entry not in before)])
        return path
    late = [entry for entry in before[1:] if entry not in archive.entries]
    write_transcript(
        path, session_id=archive.session_id, started_at=archive.started_at, cwd=cwd, entries=[*archive.entries, *late]
    )
    return path


def write_index(root: Path, agent_id: str, rows: dict[str, SessionEntry]) -> Path:
    """`sessions.json`: session key to row, with the name of its transcript file."""
    folder = sessions_dir(root, agent_id)
    index: dict[str, Any] = {}
    for key, row in rows.items():
        index[key] = row.model_dump(mode="json", by_alias=True, exclude_none=True)
        index[key]["sessionFile"] = transcript_name(row.session_id, key)
    path = folder / "sessions.json"
    _write(path, [json.dumps(index, indent=2, ensure_ascii=False)])
    return path


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)
