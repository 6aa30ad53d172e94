"""Files that an API would not take are withheld from it: its model is told of them instead.

A picture that cannot be read, or a PDF with a password or too many pages, is refused with the whole request. Since it
stays in the conversation, it would be refused in every later turn as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

import structlog

from openclaw_workers.domain.transcript import Attachment, UserEntry
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.attachments import Known, data_for, known, release, withhold
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.call import Call

log = structlog.get_logger(__name__)

_ABOUT_FILE: Final = re.compile(r"\b(image|pdf|document|file)(s|_url|_data)?\b", re.IGNORECASE)

_tried: Final[Known] = set()
"""Withheld to see whether that helps, which the next answer will tell."""
_cleared: Final[Known] = set()
"""Withheld once, which alone did not help."""


def withholding(call: Call, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
    """The events of a call.

    Raises:
        ProviderError: with `again` set where files were refused, and the next call will do without other ones.
    """
    try:
        yield from events
    except ProviderError as error:
        about = error.reason is FailureReason.FORMAT and _ABOUT_FILE.search(f"{error.code or ''} {error.message}")
        if about and (files := _try_without(call)):
            log.warning("model.files_refused", model=call.model.ref, count=len(files), error=error.message)
            error.again = True
        raise
    if _tried:
        _tried.difference_update(known(call.model, chain.from_iterable(_attached(call))))


def _try_without(call: Call) -> Known:
    """What the next call does without: the files of one message after the other, from the newest on, then all of them.

    The newest are the likeliest, but another process may have found long ago that it is an earlier one. What did not
    help is undone, or the model would miss files that are good.
    """
    attached = _attached(call)
    sent = [known(call.model, (each for each in files if data_for(call.model, each) is not None)) for files in attached]
    tried = _tried & known(call.model, chain.from_iterable(attached))
    chosen: Known = next((files for files in sent if files - _cleared), set())
    if chosen or not any(sent):
        release(tried)
        _tried.difference_update(tried)
        _cleared.update(tried)
    chosen = chosen or set().union(*sent)
    withhold(chosen)
    _tried.update(chosen)
    return chosen


def _attached(call: Call) -> list[list[Attachment]]:
    """The files of each message, the newest first."""
    return [entry.attachments for entry in reversed(call.request.messages) if isinstance(entry, UserEntry)]
