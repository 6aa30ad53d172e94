"""Streams of events."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ingress.api.access import existing_key
from ingress.api.models.inputs import EventsQuery
from ingress.api.table import Call, NoInput
from ingress.events.sse import EventStream, fleet_events, session_events

_EVENT_ID = re.compile(r"\d{1,15}(-\d{1,15})?")


async def follow_session(call: Call[EventsQuery, NoInput]) -> EventStream:
    key = await call.context.call(existing_key, call)
    last = call.request.headers.get("last-event-id", "")
    # Browsers send this header when they reconnect, so it is newer than the `after` of the URL.
    after = last if _EVENT_ID.fullmatch(last) else call.query.after
    # Before the answer begins: whoever has read its head sees all that happens after that.
    has_gap = after is not None and await call.context.hub.has_forgotten(key, after)
    start = after or await call.context.hub.last_id(key)
    return EventStream(session_events(call.context.hub, key, start, _still_allowed(call), has_gap=has_gap))


async def follow_fleet(call: Call[NoInput, NoInput]) -> EventStream:
    return EventStream(fleet_events(call.context.fleet, call.principal.may_see, _still_allowed(call)))


def _still_allowed(call: Call[Any, Any]) -> Any:
    return partial(call.context.auth.principal, call.request)
