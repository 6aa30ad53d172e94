"""Files that a client sends with a message, read from the client's own disk."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.domain.sent_files import SentFile, check_count, check_files, check_sizes
from openclaw_workers.errors import BadInput


def read_files(paths: Sequence[Path]) -> list[SentFile]:
    """Read files; nothing is read if they are too many or too large.

    Raises:
        BadInput: one is no readable file, or they are too many or too large.
    """
    check_count(len(paths))
    try:
        for path in paths:
            if not path.is_file():
                raise BadInput(f"{path} is not a file", hint="name an existing file that can be read")
        check_sizes((str(path), path.stat().st_size) for path in paths)
        files = [SentFile(path.name, path.read_bytes()) for path in paths]
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be attached: {error.strerror}") from error
    # Again, because a file may have grown since its size was read.
    check_files(files)
    return files


def upload_json(paths: Sequence[Path]) -> list[dict[str, str]]:
    """The same as the HTTP API takes them.

    Raises:
        BadInput: as for `read_files`.
    """
    return [{"name": file.name, "data": base64.b64encode(file.content).decode()} for file in read_files(paths)]
