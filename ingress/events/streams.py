"""A session's events as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse

from ingress.events.fleet import FleetFeed
from ingress.events.hub import Hub
from ingress.events.viewer import Shown, Viewer, sse
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.errors import OpenClawError

KEEP_ALIVE_SECONDS = 15.0
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
    hub: Hub, session: SessionKey, after: str | None, still_allowed: StillAllowed
) -> AsyncIterator[bytes]:
    """Events after an id, or from now on. `gap` says that some are missing."""
    yield BEGINNING
    if after and await hub.has_forgotten(session, after):
        yield GAP
    async with hub.watch(session, after) as viewer:
        async for chunk in chunks_of(viewer, still_allowed):
            yield chunk


async def fleet_events(
    feed: FleetFeed, may_see: Callable[[str], bool], still_allowed: StillAllowed
) -> AsyncIterator[bytes]:
    """Changes of the installation from now on, without those of sessions that this viewer may not see."""
    async with feed.watch() as viewer:
        yield BEGINNING + READY
        while not viewer.is_over:
            batch = await viewer.take(KEEP_ALIVE_SECONDS)
            if text := b"".join(shown.text for shown in batch if not shown.session or may_see(shown.session)):
                yield text
            elif not batch and not viewer.is_over:
                if not await _is_allowed(still_allowed):
                    return
                yield KEEP_ALIVE


async def _is_allowed(still_allowed: StillAllowed) -> bool:
    try:
        await still_allowed()
    except OpenClawError:
        return False
    return True


async def chunks_of(viewer: Viewer, still_allowed: StillAllowed) -> AsyncIterator[bytes]:
    """What a viewer is sent until it is over: events, and comments that keep the connection open."""
    last: int | None = None
    while not viewer.is_over:
        batch = await viewer.take(KEEP_ALIVE_SECONDS)
        if batch:
            last, text = _joined(batch, last)
            yield text
        elif not viewer.is_over:
            if not await _is_allowed(still_allowed):
                return
            yield KEEP_ALIVE


def _joined(batch: list[Shown], last: int | None) -> tuple[int, bytes]:
    parts = []
    for shown in batch:
        if last is not None and shown.event.seq != last + 1:
            parts.append(GAP)
        last = shown.event.seq
        parts.append(shown.text)
    assert last is not None
    return last, b"".join(parts)
