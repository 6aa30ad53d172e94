"""Transcripts as JSONL files in OpenClaw's layout: archives, when a session ends, and exports, when someone asks.

An archive holds the entries as they are stored, because we read it again. An export holds them as OpenClaw reads them.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from openclaw_workers.clock import iso
from openclaw_workers.domain.session_key import parse_key
from openclaw_workers.domain.session_row import SessionEntry

ARCHIVE_VERSION = 2
INDEX_FILE = "sessions.json"
NEW_FOLDERS = 4
"""`agents/<id>/sessions` and what it lies in."""
_SAFE = re.compile(r"[^A-Za-z0-9._-]")


def sessions_dir(root: Path, agent_id: str) -> Path:
    return root / "agents" / agent_id / "sessions"


def transcript_name(session_id: str, session_key: str) -> str:
    """`<sessionId>.jsonl`, with the topic in the name where the session is one."""
    topic = parse_key(session_key).topic_id
    return f"{session_id}-topic-{_SAFE.sub('_', topic)}.jsonl" if topic else f"{session_id}.jsonl"


def header_line(session_id: str, started_at: int, cwd: str, version: int = ARCHIVE_VERSION) -> str:
    header = {
        "type": "session",
        "version": version,
        "id": session_id,
        "timestamp": iso(started_at),
        "cwd": cwd,
    }
    return json.dumps(header)


def write_transcript(path: Path, header: str, entries: Iterable[str]) -> None:
    """Header line, then the entries. Replaces the file at once or not at all."""
    _write(path, [header, *entries])


def append_entries(path: Path, header: str, entries: Sequence[str], *, confirmed: int | None) -> int | None:
    """Append entries to a transcript and sync it; the header comes first in a new one.

    `confirmed`: the size of the file up to which all is known to be written. What lies behind it was written by a
    process that died before it could say so, and is not written again. None: nothing is known, so look for each entry.

    Returns the size of the file now; None if another process is writing it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A line break can only be part of an entry that is damaged.
    lines = [entry.replace("\n", " ").encode() for entry in entries]
    with path.open("a+b") as file:
        try:
            # The file itself is locked: it is never replaced, and no lock file is left beside it. Unlike lockf this
            # also keeps out another thread of this process.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        missing = _missing(file, lines, confirmed)
        if file.seek(0, os.SEEK_END) == 0:
            missing.insert(0, header.encode())
        file.write(b"".join(line + b"\n" for line in missing))
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    _sync_folders(path)
    return size


def _missing(file: BinaryIO, lines: Sequence[bytes], confirmed: int | None) -> list[bytes]:
    """Those of the lines that the file does not hold behind its confirmed part; a half-written line is cut off."""
    size = file.seek(0, os.SEEK_END)
    start = confirmed if confirmed is not None and confirmed <= size else 0
    file.seek(start)
    whole, line_end, half = file.read().rpartition(b"\n")
    if half:
        file.truncate(start + len(whole) + len(line_end))
    there, missing = Counter(whole.split(b"\n")), []
    for line in lines:
        if there[line] > 0:
            there[line] -= 1
        else:
            missing.append(line)
    return missing


def _sync_folders(path: Path) -> None:
    """Without this a new file, or a folder made for it, may be gone after a loss of power."""
    for folder in list(path.parents)[:NEW_FOLDERS]:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_index(
    root: Path, agent_id: str, rows: Mapping[str, SessionEntry], *, earlier: Mapping[str, Any] | None = None
) -> Path:
    """`sessions.json`: session key to row, with the name of its transcript file. `earlier` rows stay as they are."""
    folder = sessions_dir(root, agent_id)
    index: dict[str, Any] = dict(earlier or {})
    for key, row in rows.items():
        index[key] = row.model_dump(mode="json", by_alias=True, exclude_none=True)
        index[key]["sessionFile"] = transcript_name(row.session_id, key)
    path = folder / INDEX_FILE
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
