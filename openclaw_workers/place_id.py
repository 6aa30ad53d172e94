"""The id of a place: a directory that holds files of an installation, known by a random id in a file inside it.

The id lies in the directory itself. So hosts that share a directory see the same place without being told, and a
container that is made again under another name sees its place again. A state directory is a place (`state-id`), and so
is the workspace of an agent (`.openclaw-place`).
"""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

WORKSPACE_FILE = ".openclaw-place"
"""Holds the id of a workspace, at its root."""

ID = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 64


def make_place(directory: Path, file_name: str = WORKSPACE_FILE) -> str:
    """The id of the place, made by whoever asks first; of several, all get the same one.

    Raises:
        OSError: it cannot be read or made.
    """
    if found := seen_place(directory, file_name):
        return found
    directory.mkdir(parents=True, exist_ok=True)
    write_place(directory, uuid.uuid4().hex, file_name)
    if found := seen_place(directory, file_name):
        return found
    raise OSError(f"{directory / file_name} does not hold the id of a place; delete it")


def write_place(directory: Path, place: str, file_name: str = WORKSPACE_FILE) -> None:
    """Give a directory this id, unless it has one.

    Raises:
        OSError: it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=f"{file_name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{place}\n")
            file.flush()
            os.fsync(handle)
        with suppress(FileExistsError):  # somebody else was faster
            os.link(temporary, directory / file_name)  # in one step: nobody reads half an id
    finally:
        os.unlink(temporary)


def seen_place(directory: Path, file_name: str = WORKSPACE_FILE) -> str:
    """The id of the place as this host sees it; "" if the directory, the file or a valid id is not there."""
    try:
        file = os.open(directory / file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = os.read(file, _MOST_BYTES).decode("ascii", errors="replace").strip()
    except OSError:
        return ""
    finally:
        os.close(file)
    return text if ID.fullmatch(text) else ""
