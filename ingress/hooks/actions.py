"""Carrying out what a webhook asks for: a turn, or an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingress.errors import HttpError
from ingress.hooks.calls import LAST, AgentCall
from ingress.hooks.sessions import HookSessions
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.session_key import agent_of, main_key
from openclaw_workers.engine.intake.accept import Queued, Rejected, message_id_for

if TYPE_CHECKING:
    from ingress.context import IngressContext

CHANNEL = "hook"
"""Of turns whose answer goes to no chat."""


class HookActions:
    """Blocking; call it in a thread."""

    def __init__(self, context: IngressContext) -> None:
        self._context = context
        self._sessions = HookSessions(context.settings, context.session_rules)

    def start_turn(self, call: AgentCall, once: str) -> dict[str, Any]:
        """Accept the message. `once` is the same each time the request is sent; empty if it is not.

        Raises:
            HttpError: 403 against the policy, 409 if the session does not take it.
            BadInput: the model, the level or the session cannot be used.
            StoreUnavailable: not accepted, as far as we know.
        """
        session = self._sessions.for_turn(call.session, once)
        accepted = self._context.intake.accept(
            call.text,
            session=session,
            route=self._route(call, agent_of(session)),
            sender=call.source,
            # Whoever holds the token may start turns; what a turn may do is not for a text from outside to extend.
            authority=Authority.AUTHORIZED,
            message_id=_message_id(once),
            model=call.model,
            thinking=call.thinking,
            timeout_seconds=call.timeout_seconds,
        )
        if isinstance(accepted, Rejected):
            raise HttpError(409, f"{session} did not take the message: it is {accepted.reason}")
        assert isinstance(accepted, Queued), "a text that begins with a marker or a template is no command"
        return {
            "ok": True,
            "messageId": accepted.message_id,
            "sessionKey": accepted.session_key,
            "runId": accepted.run,
            "duplicate": accepted.duplicate is not None,
        }

    def _route(self, call: AgentCall, agent: str) -> Route:
        """Where the answer goes."""
        if not call.deliver:
            return Route(channel=CHANNEL)
        if call.channel != LAST:
            return Route(channel=call.channel, to=call.to or "", account_id=call.account_id or "")
        row = self._context.stores.reader.session(main_key(agent, self._context.session_rules.main_key))
        if row is None or not row.last_channel:
            return Route(channel=CHANNEL)
        return Route(
            channel=row.last_channel,
            to=row.last_to or "",
            account_id=row.last_account_id or "",
            thread_id=row.last_thread_id or "",
        )


def _message_id(once: str) -> MessageId | None:
    return message_id_for(CHANNEL, "", "", once) if once else None
