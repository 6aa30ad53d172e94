"""Sessions as files that OpenClaw reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openclaw_workers.cli.backend.protocol import Backend
from openclaw_workers.cli.export_target import check_is_no_state_dir, check_transcripts, earlier_index, transcript_path
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.engine.archives.openclaw_entries import FORMAT_VERSION, exported_lines
from openclaw_workers.engine.archives.transcript_files import header_line, write_index, write_transcript
from openclaw_workers.errors import BadInput


@dataclass
class Exported:
    files: list[Path] = field(default_factory=list)
    unreadable: int = 0

    def add(self, path: Path, unreadable: int) -> None:
        self.files.append(path)
        self.unreadable += unreadable


def export_sessions(backend: Backend, rows: Sequence[SessionEntry], out: Path) -> Exported:
    """Write one transcript per session, and one index per agent, added to the index of an earlier export.

    Raises:
        BadInput: the directory cannot be written, or holds files of others in our places. Then nothing is written.
    """
    exported = Exported()
    by_agent: defaultdict[str, dict[str, SessionEntry]] = defaultdict(dict)
    for row in rows:
        by_agent[row.agent_id][row.session_key] = row
    try:
        check_is_no_state_dir(out)
        check_transcripts(out, rows)
        # All checks come before the first write, so that a refused export leaves nothing behind.
        earlier = {agent_id: earlier_index(out, agent_id) for agent_id in by_agent}
        for agent_id, of_agent in by_agent.items():
            for row in of_agent.values():
                _write_session(backend, row, out, exported)
            exported.files.append(write_index(out, agent_id, of_agent, earlier=earlier[agent_id]))
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror or error}", hint="choose another --out") from error
    return exported


def _write_session(backend: Backend, row: SessionEntry, out: Path, exported: Exported) -> None:
    found = backend.export_transcript(row)
    path = transcript_path(out, row)
    header = header_line(row.session_id, row.session_started_at, found.workspace, FORMAT_VERSION)
    write_transcript(path, header, exported_lines(row.session_id, list(map(load_entry, found.lines))))
    exported.add(path, found.unreadable)
