"""Attached files, encoded for a model or described by a note."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from typing import Final

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.domain.media_types import IMAGES, MOST_IMAGE_BYTES, MOST_PDF_BYTES, PDF
from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.domain.untrusted import neutralise
from openclaw_workers.file_access import open_regular_file

_NAME_CHARS: Final = 200
# Our own notes stand in brackets, so a file name with brackets could imitate one.
_NO_BRACKETS: Final = str.maketrans("[]<>", "()()")

ModelFiles = set[tuple[str, str]]
"""Pairs of a model and the path of a file."""

_withheld: Final[ModelFiles] = set()


def model_files(model: ModelInfo, files: Iterable[Attachment]) -> ModelFiles:
    return {(model.ref, each.path) for each in files}


def withhold(files: ModelFiles) -> None:
    """Stop sending these files to these models."""
    _withheld.update(files)


def release(files: ModelFiles) -> None:
    """Send them again."""
    _withheld.difference_update(files)


def data_for(model: ModelInfo, attachment: Attachment) -> str | None:
    """An image or a PDF in base64; None if the model does not accept it, or it is too large or missing."""
    if (model.ref, attachment.path) in _withheld:
        return None
    if attachment.mime_type in IMAGES and model.images:
        return _encoded(attachment, MOST_IMAGE_BYTES)
    if attachment.mime_type == PDF and model.files:
        return _encoded(attachment, MOST_PDF_BYTES)
    return None


def data_url(attachment: Attachment, data: str) -> str:
    return f"data:{attachment.mime_type};base64,{data}"


def shown_name(attachment: Attachment) -> str:
    """The file name, safe for a model to read: one line, without markers and brackets, because others chose it."""
    name = neutralise(_line(attachment.name)).translate(_NO_BRACKETS)
    return name[:_NAME_CHARS] or "file"


def note(attachment: Attachment) -> str:
    """The note that replaces a file for a model that does not accept it."""
    kind, path = (neutralise(_line(text)) for text in (attachment.mime_type, attachment.path))
    where = f"cannot be read: {_line(attachment.problem)}" if attachment.problem else f"at {path}"
    return f"[attached file: {shown_name(attachment)} ({kind}) {where}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def _encoded(attachment: Attachment, most: int) -> str | None:
    try:
        # Never through a link or from a pipe: a tool may have put another file at this path since.
        with open_regular_file(attachment.path) as file:
            return base64.b64encode(file.read()).decode() if 0 < os.fstat(file.fileno()).st_size <= most else None
    except OSError:
        return None
