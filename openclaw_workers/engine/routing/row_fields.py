"""What an inbound message tells about its session, as the session's row keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.inbound import Inbound
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.session_key import Kind, parse_key
from openclaw_workers.domain.session_row import DeliveryContext, SessionOrigin
from openclaw_workers.domain.untrusted import safe_line


@lru_cache(maxsize=1024)
def _delivery_context(route: Route) -> str:
    context = DeliveryContext(
        channel=route.channel, to=route.to, account_id=route.account_id, thread_id=route.thread_id
    )
    return context.model_dump_json(by_alias=True)


def delivery_fields(route: Route) -> dict[str, str]:
    """Where a session was last spoken to: replies go there. An empty value clears what another route has left."""
    return {
        "lastChannel": route.channel,
        "lastTo": route.to,
        "lastAccountId": route.account_id,
        "lastThreadId": route.thread_id,
        "deliveryContext": _delivery_context(route),
    }


def last_route(row: Mapping[str, str]) -> Route:
    """Where a session was last spoken to, by its row; the channel is `internal` if nobody did from outside."""
    return Route(
        channel=row.get("lastChannel") or "internal",
        to=row.get("lastTo", ""),
        account_id=row.get("lastAccountId", ""),
        thread_id=row.get("lastThreadId", ""),
    )


def inbound_fields(inbound: Inbound, session: SessionKey) -> dict[str, str]:
    """What a message of a channel says about the chat and the person, besides the route."""
    title, topic = safe_line(inbound.chat_title), safe_line(inbound.topic_title)
    person = safe_line(inbound.sender_name or inbound.username or inbound.sender_id)
    label = " / ".join(filter(None, [title or inbound.chat_id, topic])) if inbound.is_group else person
    origin = SessionOrigin(
        label=label,
        provider=inbound.channel,
        surface=inbound.channel,
        chat_type=parse_key(session).chat_type,
        sender=f"{inbound.channel}:{inbound.sender_id}",
        to=inbound.chat_id,
        account_id=inbound.account_id,
        thread_id=inbound.route.thread_id or None,
    )
    return {
        "channel": inbound.channel,
        "origin": json.dumps(origin.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False),
        "subject": title if inbound.is_group else "",
        "groupChannel": topic if inbound.is_group else "",
        # People of several channels may share a main session: it is nobody's in particular.
        "displayName": "" if parse_key(session).kind in (Kind.MAIN, Kind.GLOBAL) else label,
        "lastCapabilities": ",".join(inbound.capabilities),
    }
