"""The hook before a message goes to a chat: plugins may change its text, or hold it back."""

from __future__ import annotations

from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.hooks import Hooks


class HeldBack(Exception):
    """A plugin does not let the message out; the text says why."""


def through_hooks(message: OutgoingMessage, hooks: Hooks) -> OutgoingMessage:
    """The message as plugins want it.

    Raises:
        HeldBack: one of them blocks it, or failed.
    """
    if not hooks.is_used("message_sending"):
        return message
    event = {
        "id": message.id,
        "kind": str(message.kind),
        "action": str(message.action),
        "sessionKey": message.session_key,
        "runId": message.run_id,
        "channel": message.route.channel,
        "to": message.route.to,
        "text": message.text,
    }
    verdict = hooks.ask("message_sending", event)
    if verdict.blocked:
        raise HeldBack(verdict.blocked)
    return message.model_copy(update={"text": str(verdict.event["text"])})
