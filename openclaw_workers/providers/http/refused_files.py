"""Withhold files that an API refuses: the model gets a note about them instead.

An unreadable image, or a PDF with a password or too many pages, makes the API reject the whole request. The file stays
in the conversation, so every later request would be rejected too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import structlog

from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.attachments import ModelFiles, data_for, model_files, release, withhold
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import Call

log = structlog.get_logger(__name__)

_ABOUT_FILE: Final = re.compile(r"\b(image|pdf|document|file)(s|_url|_data)?\b", re.IGNORECASE)

_tried: Final[ModelFiles] = set()
"""Withheld on trial; the next answer shows whether that helps."""
_cleared: Final[ModelFiles] = set()
"""Withheld once without success."""


def withhold_refused_files(call: Call, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
    """Pass on the events of a call; if the API refuses a file, withhold files in the next call.

    Raises:
        ProviderError: with `will_differ` set if files were refused and the next call withholds some.
    """
    try:
        yield from events
    except ProviderError as error:
        about = error.reason is FailureReason.FORMAT and _ABOUT_FILE.search(f"{error.code or ''} {error.message}")
        # An inner layer may have found the reason already (a thinking level, a field). One change at a time shows
        # what helped.
        if about and not error.will_differ and (files := _try_without(call)):
            log.warning("model.files_refused", model=call.model.ref, count=len(files), error=error.message)
            error.will_differ = True
        raise
    # The call succeeded, so what was withheld for it was the culprit and stays withheld.
    if _tried:
        _tried.difference_update(model_files(call.model, chain.from_iterable(_attached(call))))


def _try_without(call: Call) -> ModelFiles:
    """Choose the files to withhold in the next call: those of one message after the other, newest first, then all.

    The newest are the most likely culprits, but it may be an earlier file that only another process knows about. If
    withholding did not help, it is undone, so that the model does not miss good files.
    """
    attached = _attached(call)
    sent = [
        model_files(call.model, (each for each in files if data_for(call.model, each) is not None))
        for files in attached
    ]
    tried = _tried & model_files(call.model, chain.from_iterable(attached))
    chosen: ModelFiles = next((files for files in sent if files - _cleared), set())
    if chosen or not any(sent):
        release(tried)
        _tried.difference_update(tried)
        _cleared.update(tried)
    chosen = chosen or set().union(*sent)
    withhold(chosen)
    _tried.update(chosen)
    return chosen


def _attached(call: Call) -> list[Sequence[Attachment]]:
    """The files of each message, the newest first."""
    return [entry.files for entry in reversed(call.request.messages) if entry.files]
