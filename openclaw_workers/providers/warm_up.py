"""A call without a network, so that an SDK loads before the first turn what it loads at its first call.

Importing an SDK is not all of it: parts are imported when they are first used, and no other turn of the process gets on
meanwhile.
"""

from __future__ import annotations

from typing import Final

import httpx2

# `.invalid` never resolves, so a bug here cannot send a request anywhere.
NOWHERE: Final = "http://warm-up.invalid/v1"
_EVENT: Final = b'event: message_stop\ndata: {"type": "message_stop"}\n\n'


def canned_client() -> httpx2.Client:
    """A client whose every request is answered at once, by a stream of one event."""
    headers = {"content-type": "text/event-stream"}
    return httpx2.Client(
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=_EVENT, headers=headers))
    )
