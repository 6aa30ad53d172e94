"""Files that an API would not take are withheld from it: its model is told of them instead.

A picture that cannot be read, or a PDF with a password or too many pages, is refused with the whole request. Since it
stays in the conversation, it would be refused in every later turn as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import structlog

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.models.transcript import Attachment, UserEntry
from openclaw_workers.providers.attachments import data_for, withhold
from openclaw_workers.providers.base import StreamEvent
from openclaw_workers.providers.calls import Call

log = structlog.get_logger(__name__)

_ABOUT_FILE: Final = re.compile(r"\b(image|pdf|document|file)(s|_url|_data)?\b", re.IGNORECASE)


def withholding(call: Call, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
    """The events of a call.

    Raises:
        ProviderError: with `again` set where files were refused, of which the next call will hold fewer.
    """
    try:
        yield from events
    except ProviderError as error:
        about = error.reason is FailureReason.FORMAT and _ABOUT_FILE.search(f"{error.code or ''} {error.message}")
        if about and (files := _newest(call)):
            log.warning("model.files_refused", model=call.model.ref, count=len(files), error=error.message)
            withhold(call.model, files)
            error.again = True
        raise


def _newest(call: Call) -> list[Attachment]:
    """Those of the newest message that was sent with any: what came with earlier ones was taken before."""
    for entry in reversed(call.request.messages):
        files = entry.attachments if isinstance(entry, UserEntry) else []
        if sent := [each for each in files if data_for(call.model, each) is not None]:
            return sent
    return []
