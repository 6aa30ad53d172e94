"""Carrying out what a webhook asks for: a turn, or an event."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ingress.errors import HttpError
from ingress.webhooks.calls import LAST, AgentCall, WakeCall
from ingress.webhooks.sessions import HookSessions
from openclaw_workers.config.model_names import find_model
from openclaw_workers.domain.accepted import Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey, new_message_id
from openclaw_workers.domain.messages import Authority, InboundMessage, Route
from openclaw_workers.domain.session_key import agent_of, main_key
from openclaw_workers.domain.system_event import MAX_EVENT_CHARS, PROVENANCE, SystemEvent
from openclaw_workers.domain.untrusted import replace_span
from openclaw_workers.engine.delivery.chats import push_channels

if TYPE_CHECKING:
    from ingress.context import IngressContext

CHANNEL = "hook"
"""Of turns whose answer goes to no chat."""
WEBHOOK = "webhook"
"""Provenance of a message from outside, in the transcript."""
WAKE = "(a system event woke this session)"
"""Stands in the inbox until the turn begins; the model reads the event instead."""
MARGIN_CHARS = 500
"""For the marks around a text."""


class HookActions:
    """Blocking; call it in a thread."""

    def __init__(self, context: IngressContext) -> None:
        self._context = context
        self._sessions = HookSessions(context.settings, context.session_rules)

    def start_turn(self, call: AgentCall, once: str) -> dict[str, Any]:
        """Accept the message. `once` is the same each time the request is sent; empty if it is not.

        Raises:
            HttpError: 403 against the policy, 409 or 429 if the session does not take it.
            BadInput: the model or the session cannot be used.
            StoreUnavailable: not accepted, as far as we know.
        """
        context = self._context
        session = self._sessions.for_turn(call.session, once)
        if context.stores.reader.control(session).waiting >= context.settings.messages.queue.cap:
            raise HttpError(429, f"the queue of {session} is full", headers={"Retry-After": "10"})
        message = InboundMessage(
            id=MessageId(f"hook-{_digest(once)}") if once else new_message_id(),
            session_key=session,
            text=call.text,
            route=self._route(call, agent_of(session)),
            sender=call.source,
            # Whoever holds the token may start turns; what a turn may do is not for a text from outside to extend.
            authority=Authority.AUTHORIZED,
            # It is no person's message: it moves no chat, and does not keep the session from its reset.
            kind="internal",
            model=None if call.model is None else find_model(context.settings, call.model),
            thinking=call.thinking,
            timeout_seconds=call.timeout_seconds,
            metadata={"provenance": WEBHOOK},
        )
        accepted = context.intake.post(message)
        if isinstance(accepted, Rejected):
            raise HttpError(409, f"{session} rejected the message: it is {accepted.reason}")
        return {
            "ok": True,
            "messageId": accepted.message_id,
            "sessionKey": accepted.session_key,
            "runId": accepted.run,
            "duplicate": accepted.duplicate is not None,
        }

    def add_event(self, call: WakeCall, once: str) -> dict[str, Any]:
        """Tell a session of an event: in a turn that starts now, or in its next one.

        Raises:
            HttpError: 403 against the policy, 404 if the session does not exist and is not to be woken.
            StoreUnavailable: not stored, as far as we know.
        """
        session = self._sessions.for_event(call.session)
        key = _digest(once) if once else new_message_id()
        shown = _fitting(call.text)
        event = SystemEvent(call.source, shown, key, shown=f"[System event from {call.source}]\n{shown}")
        answer = {"ok": True, "sessionKey": session, "mode": call.mode}
        if call.mode == "now":
            accepted = self._context.intake.post(self._wake(session, key), event=event)
            if isinstance(accepted, Rejected):
                raise HttpError(409, f"{session} cannot be woken: {accepted.reason}")
            return {**answer, "runId": accepted.run, "duplicate": accepted.duplicate is not None}
        added = self._context.stores.system_events.add(session, event)
        if added == "missing":
            raise HttpError(404, f"no session {session}", hint='mode "now" creates it')
        return {**answer, "runId": None, "duplicate": added == "known"}

    def _wake(self, session: SessionKey, key: str) -> InboundMessage:
        """A message that only wakes the session; what it says stands in the event."""
        return InboundMessage(
            id=MessageId(f"wake-{key}"),
            session_key=session,
            text=WAKE,
            route=self._last_route(session),
            authority=Authority.AUTHORIZED,
            kind="internal",
            metadata={"provenance": PROVENANCE},
        )

    def _route(self, call: AgentCall, agent: str) -> Route:
        """Where the answer goes.

        Raises:
            HttpError: no adapter sends to that channel.
        """
        if not call.deliver:
            return Route(channel=CHANNEL)
        if call.channel == LAST:
            return self._last_route(main_key(agent, self._context.session_rules.main_key))
        known = push_channels(self._context.settings)
        if call.channel not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise HttpError(400, f"no channel {call.channel!r} that sends", hint=f"channels that do: {listed}")
        return Route(channel=call.channel, to=call.to or "", account_id=call.account_id or "")

    def _last_route(self, session: SessionKey) -> Route:
        """Where a session was spoken to last."""
        row = self._context.stores.reader.session(session)
        if row is None or not row.last_channel:
            return Route(channel=CHANNEL)
        return Route(
            channel=row.last_channel,
            to=row.last_to or "",
            account_id=row.last_account_id or "",
            thread_id=row.last_thread_id or "",
        )


def _fitting(text: str) -> str:
    """A text that one event can hold; what is quoted stays quoted."""
    most = MAX_EVENT_CHARS - MARGIN_CHARS
    return text if len(text) <= most else replace_span(text, most, len(text), "\n[the rest is left out]")


def _digest(once: str) -> str:
    return sha256(once.encode(errors="replace")).hexdigest()[:32]
