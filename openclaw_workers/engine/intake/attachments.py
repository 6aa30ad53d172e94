"""Files that come with a message: copied into the agent's workspace, where its tools and any worker can open them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.ids import MessageId
from openclaw_workers.domain.media_types import SNIFFED_BYTES, media_type
from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.errors import BadInput

FOLDER = ".openclaw/inbox"
MOST_FILES = 20
MOST_BYTES = 50 << 20


def attach(files: Sequence[Path], workspace: Path, message: MessageId) -> list[Attachment]:
    """Copy files for a message; doing so again for the same message changes nothing.

    Raises:
        BadInput: one is no readable file, they are too many or too large, or the workspace cannot take them.
    """
    if len(files) > MOST_FILES:
        raise BadInput(f"{len(files)} files are too many; at most {MOST_FILES} can come with a message")
    folder = workspace / FOLDER / re.sub(r"[^A-Za-z0-9_-]", "_", message)[:100]
    return [_copied(file, folder, workspace, index) for index, file in enumerate(files, start=1)]


def _copied(file: Path, folder: Path, workspace: Path, index: int) -> Attachment:
    # Whoever sent the file chose its name, and a model reads it beside the message.
    name = safe_file_name(file.name)
    try:
        if not file.is_file():
            raise BadInput(f"{file} is no file", hint="name an existing file that can be read")
        if file.stat().st_size > MOST_BYTES:
            raise BadInput(f"{file} has {file.stat().st_size:,} bytes; at most {MOST_BYTES:,} can come with a message")
        folder.mkdir(parents=True, exist_ok=True)
        if not folder.resolve().is_relative_to(workspace.resolve()):
            raise BadInput(f"{folder} leads out of the workspace", hint="remove the link that does so")
        # Without links in it: a link that is put there later would otherwise lead a model's request elsewhere.
        place = folder.resolve() / f"{index}-{name}"
        place.unlink(missing_ok=True)  # it could be a link, and a copy would follow it
        shutil.copyfile(file, place)
        with place.open("rb") as copy:
            beginning = copy.read(SNIFFED_BYTES)
    except OSError as error:
        raise BadInput(f"{file} cannot be attached: {error.strerror}") from error
    return Attachment(name=name, mime_type=media_type(file.name, beginning), path=str(place))
