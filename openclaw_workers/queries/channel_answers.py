"""Chat channels as JSON answers: which accounts there are, who receives for them, and what goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.errors import NotFound
from openclaw_workers.store.channels import ChannelAccount
from openclaw_workers.views.channels import (
    ConfiguredAccount,
    account_json,
    blocked_chat_json,
    refused_update_json,
)
from openclaw_workers.views.pairing import refusal_json

if TYPE_CHECKING:
    from openclaw_workers.config.settings import Settings
    from openclaw_workers.queries.installation import Installation


def channels_answer(installation: Installation) -> dict[str, Any]:
    """Every configured account."""
    channels = installation.stores.channels
    rows = [
        account_json(each, channels.state(each.account)) for each in configured_accounts(installation.loaded.settings)
    ]
    return {"ok": True, "channels": rows}


def channel_answer(installation: Installation, wanted: str) -> dict[str, Any]:
    """One account in full.

    Raises:
        NotFound: there is no such account.
    """
    found = find_account(installation, wanted)
    channels, account = installation.stores.channels, found.account
    refusals = [
        each for each in installation.stores.pairings.refusals() if (each.channel, each.account_id) == _pair(account)
    ]
    return {
        "ok": True,
        **account_json(found, channels.state(account)),
        "refused": [refusal_json(each) for each in refusals],
        "refusedUpdates": [refused_update_json(note) for note in channels.refused(account)],
        "blockedChats": [blocked_chat_json(chat, note) for chat, note in channels.blocked(account).items()],
    }


def find_account(installation: Installation, wanted: str) -> ConfiguredAccount:
    """The account that `channel` or `channel/account` names.

    Raises:
        NotFound: there is no such account.
    """
    known = configured_accounts(installation.loaded.settings)
    for each in known:
        if wanted in (each.name, f"{each.account.channel}/{each.account.account_id}"):
            return each
    names = ", ".join(each.name for each in known) or "none"
    raise NotFound(f"no account {wanted}; configured are: {names}", hint="`ocw channels list` shows them")


def configured_accounts(settings: Settings) -> list[ConfiguredAccount]:
    """The accounts of all channels. A channel without any has its default account, which lacks a token."""
    channels = settings.channels
    found = []
    # From the schema, so that a new channel is listed without a change here.
    for channel in type(channels).model_fields:
        section = getattr(channels, channel)
        for name in dict.fromkeys([DEFAULT_ACCOUNT, *section.accounts]):
            account = section.account(name)
            # With named accounts, the section itself only holds what they share.
            if name == DEFAULT_ACCOUNT and not account.bot_token and section.accounts:
                continue
            found.append(
                ConfiguredAccount(
                    ChannelAccount(channel, name),
                    enabled=section.enabled and account.enabled,
                    has_token=account.bot_token is not None,
                    receives="webhook" if account.webhook.url else "polling",
                )
            )
    return found


def _pair(account: ChannelAccount) -> tuple[str, str]:
    return account.channel, account.account_id
