"""A session's events as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse

from ingress.events.fleet import FleetFeed
from ingress.events.session_events import Hub
from ingress.events.viewer import Shown, Viewer, sse
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import OpenClawError

KEEP_ALIVE_SECONDS = 15.0
CHECK_SECONDS = 5.0
"""How often the token of a viewer is checked."""
KEEP_ALIVE = b": keep-alive\n\n"
BEGINNING = b"retry: 1000\n\n"
READY = sse("ready", {})
GAP = sse("gap", {"reason": "events were missed; read the session again"})

StillAllowed = Callable[[], Awaitable[object]]
"""Raises once the viewer's token has been revoked."""


class EventStream(StreamingResponse):
    """Server-sent events; proxies must pass them on at once."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(chunks, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def session_events(
    hub: Hub, session: SessionKey, after: str, still_allowed: StillAllowed, *, has_gap: bool = False
) -> AsyncIterator[bytes]:
    """Events after an id. `has_gap`: some of them are gone."""
    # At once, so that the response head goes out and the client knows that it is connected.
    yield BEGINNING + GAP if has_gap else BEGINNING
    async with hub.watch(session, after) as viewer:
        async for chunk in chunks_of(viewer, still_allowed):
            yield chunk


async def fleet_events(
    feed: FleetFeed, may_see: Callable[[str], bool], still_allowed: StillAllowed
) -> AsyncIterator[bytes]:
    """Changes of the installation from now on, without those of sessions that this viewer may not see."""
    async with feed.watch() as viewer:
        yield BEGINNING + READY
        async for batch in _batches(viewer, still_allowed):
            shown = [each.text for each in batch if not each.session or may_see(each.session)]
            if shown or not batch:
                yield b"".join(shown) or KEEP_ALIVE


async def chunks_of(viewer: Viewer, still_allowed: StillAllowed) -> AsyncIterator[bytes]:
    """What a viewer is sent until it is over: events, and comments that keep the connection open."""
    last: int | None = None
    async for batch in _batches(viewer, still_allowed):
        if not batch:
            yield KEEP_ALIVE
            continue
        parts = []
        for shown in batch:
            if last is not None and shown.event.seq != last + 1:
                parts.append(GAP)
            last = shown.event.seq
            parts.append(shown.text)
        yield b"".join(parts)


async def _batches(viewer: Viewer, still_allowed: StillAllowed) -> AsyncIterator[list[Shown]]:
    """Events as they come; an empty list after a while without any. Ends when the viewer is no longer allowed."""
    clock = asyncio.get_running_loop().time
    checked_at = sent_at = clock()
    while not viewer.is_over:
        batch = await viewer.take(CHECK_SECONDS)
        now = clock()
        if now - checked_at >= CHECK_SECONDS:
            checked_at = now
            try:
                await still_allowed()
            except OpenClawError:
                return
        if batch or (now - sent_at >= KEEP_ALIVE_SECONDS and not viewer.is_over):
            sent_at = now
            yield batch
