"""A message that tests whether an account of a chat channel sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage, OutgoingState
from openclaw_workers.errors import NotFound, TransientError

if TYPE_CHECKING:
    from openclaw_workers.store.channels import ChannelAccount
    from openclaw_workers.store.outbox import Outbox

SEND_SECONDS = 30
LOOK_SECONDS = 0.2


def put_test_message(outbox: Outbox, account: ChannelAccount, chat: str) -> str:
    """Give a message the way that all others go; returns its id."""
    route = Route(channel=account.channel, account_id=account.account_id, to=chat)
    text = "This is a test of `ocw channels test`."
    message = OutgoingMessage(id=f"test-{new_token()}", kind=OutgoingKind.MESSAGE, route=route, text=text)
    # Through the outbox, because that is what must be tested: the sender, the token and the chat.
    outbox.put(message)
    return message.id


def sent_as(outbox: Outbox, message: str) -> str | None:
    """The channel's id of a message; None while it waits.

    Raises:
        TransientError: the channel refused it, or nobody knows whether it arrived.
    """
    try:
        entry, _ = outbox.get(message)
    except NotFound:
        raise not_sent() from None
    if entry.state is OutgoingState.SENT:
        return entry.parts[-1].message_id
    if entry.state in (OutgoingState.FAILED, OutgoingState.UNKNOWN):
        raise TransientError(f"the message is {entry.state}: {entry.error}", hint=f"`ocw outbox show {entry.id}`")
    return None


def not_sent() -> TransientError:
    hint = "an ingress must run (`ocw up` or `ocw ingress`); `ocw outbox list` shows what waits"
    return TransientError(f"nobody sent the message within {SEND_SECONDS} s", hint=hint)
