"""What already lies where an export writes. Files of others, such as those of OpenClaw itself, are not touched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.archives.transcript_files import INDEX_FILE, sessions_dir, transcript_name
from openclaw_workers.errors import BadInput
from openclaw_workers.state_dir import ID_FILE


def check_is_no_state_dir(out: Path) -> None:
    """Archives have the same names there, and another form.

    Raises:
        BadInput: it is a state directory.
    """
    if (out / ID_FILE).exists():
        raise BadInput(f"{out} is a state directory, which has its own archives", hint="choose another --out")


def transcript_path(out: Path, row: SessionEntry) -> Path:
    return sessions_dir(out, row.agent_id) / transcript_name(row.session_id, row.session_key)


def earlier_index(out: Path, agent_id: str) -> dict[str, Any]:
    """The rows that earlier exports left for an agent.

    Raises:
        BadInput: there is an index that no export wrote.
    """
    path = sessions_dir(out, agent_id) / INDEX_FILE
    if not path.exists():
        return {}
    with _only_ours(path):
        index = json.loads(path.read_bytes())
        if not isinstance(index, dict):
            raise TypeError
        for key, row in index.items():
            entry = SessionEntry.model_validate(row)
            # OpenClaw has an index of the same name, whose rows do not name their session.
            if (entry.session_key, entry.agent_id) != (key, agent_id):
                raise ValueError
    return dict(index)


def check_transcripts(out: Path, rows: Iterable[SessionEntry]) -> None:
    """See that no file of another session has the name of a transcript.

    Raises:
        BadInput: there is one.
    """
    for row in rows:
        path = transcript_path(out, row)
        if path.exists():
            with _only_ours(path), path.open("rb") as file:
                header = json.loads(file.readline())
                if (header["type"], header["id"]) != ("session", row.session_id):
                    raise ValueError


@contextmanager
def _only_ours(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
        raise BadInput(
            f"{path} was not written by `ocw sessions export`", hint="move it away, or choose another --out"
        ) from error
