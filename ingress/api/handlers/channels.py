"""Accounts of chat channels: list, status, test."""

from __future__ import annotations

import asyncio
from typing import Any

from ingress.adapters import check_account
from ingress.api.models.inputs import ChannelTestInput
from ingress.api.table import Call, NoInput
from openclaw_workers.queries.channel_answers import channel_answer, channels_answer, find_account
from openclaw_workers.queries.channel_checks import LOOK_SECONDS, SEND_SECONDS, not_sent, put_test_message, sent_as
from openclaw_workers.store.channels import ChannelAccount


def list_channels(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return channels_answer(call.context)


def get_channel(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """`telegram` is the default account, `telegram/work` another one."""
    return channel_answer(call.context, "/".join(call.path.values()))


async def test_channel(call: Call[NoInput, ChannelTestInput]) -> dict[str, Any]:
    """Ask the channel whether it knows the token, and optionally send a message through the outbox."""
    context, body = call.context, call.body
    found = find_account(context, body.account)
    said = await context.call_slowly(check_account, context.settings, found.account)
    sent = await _sent(call, found.account, body.to) if body.to is not None else None
    return {"ok": True, "name": found.name, **said, "sent": sent}


async def _sent(call: Call[Any, Any], account: ChannelAccount, chat: str) -> str:
    outbox, run = call.context.stores.outbox, call.context.call
    # Through the outbox and not by the adapter: only the process that holds the route's lease may send.
    message = await run(put_test_message, outbox, account, chat)
    for _ in range(int(SEND_SECONDS / LOOK_SECONDS)):
        sent = await run(sent_as, outbox, message)
        if sent is not None:
            return sent
        await asyncio.sleep(LOOK_SECONDS)
    raise not_sent()
