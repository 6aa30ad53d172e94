"""The lines of an archived transcript that one run wrote: read at the place, for whoever asks from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw_workers.engine.archives.transcript_files import sessions_dir, transcript_name
from openclaw_workers.engine.place_service import OnlyAnswers, Operation, Progress
from openclaw_workers.errors import NotFound, OpenClawError

OPERATION = "archive_lines"
PAGE_BYTES = 256 * 1024
"""Of one answer: Redis serves nobody else while it handles a large value."""


@dataclass(frozen=True, slots=True)
class ArchivedRun:
    """A run whose entries are looked for."""

    agent: str
    session: str
    """The session id under which it ran."""
    key: str
    run: str


class ArchiveLines(OnlyAnswers):
    """Implements engine.place_service.Part for the archives of one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {OPERATION: self._answer}

    def page(self, wanted: ArchivedRun, start: int) -> tuple[list[str], int]:
        """Lines of a run from a position in the file on, and the position after them; -1 at the end.

        Raises:
            NotFound: the archive is not here.
            OpenClawError: it cannot be read.
        """
        path = sessions_dir(self._state_dir, wanted.agent) / transcript_name(wanted.session, wanted.key)
        missing = f"there is no archive of {wanted.session}"
        # The names come from another process and must not lead out of the directory.
        if "/" in wanted.agent or "/" in wanted.session or wanted.agent.startswith("."):
            raise NotFound(missing)
        found: list[str] = []
        size = 0
        try:
            with path.open("rb") as file:
                file.seek(start)
                while line := file.readline():
                    if not _is_of(line, wanted.run):
                        continue
                    found.append(line.decode().rstrip("\n"))
                    size += len(line)
                    if size > PAGE_BYTES:
                        return found, file.tell()
        except FileNotFoundError as error:
            raise NotFound(missing) from error
        except OSError as error:
            raise OpenClawError(f"the archive {path} cannot be read: {error.strerror}") from error
        return found, -1

    def _answer(self, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
        wanted = ArchivedRun(*(str(asked[name]) for name in ("agent", "session", "key", "run")))
        lines, after = self.page(wanted, int(asked["start"]))
        return {"lines": lines, "next": after}


def _is_of(line: bytes, run: str) -> bool:
    if run.encode() not in line:  # most lines are not parsed
        return False
    try:
        entry = json.loads(line)
    except ValueError:  # damaged, or not UTF-8
        return False
    return isinstance(entry, dict) and entry.get("runId") == run
