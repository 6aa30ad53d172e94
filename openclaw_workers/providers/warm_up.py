"""A call without a network, so that an SDK builds before the first turn what it builds at its first call.

Importing an SDK is only half of it: its resources are imported, and the classes of its events made, when they are first
used. That takes up to a second, in which no other turn of the process gets on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import httpx2

NOWHERE: Final = "http://warm-up.invalid/v1"


def canned_client(events: Sequence[dict[str, Any]]) -> httpx2.Client:
    """A client whose every request is answered by these events."""
    lines = (f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n" for event in events)
    body, headers = "".join(lines).encode(), {"content-type": "text/event-stream"}
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers=headers)))
