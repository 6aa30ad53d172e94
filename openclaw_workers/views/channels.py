"""Accounts of chat channels as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.store.channels import AccountState, ChannelAccount


@dataclass(frozen=True, slots=True)
class ConfiguredAccount:
    """What the settings say of an account."""

    account: ChannelAccount
    enabled: bool
    has_token: bool
    receives: str
    """polling or webhook."""

    @property
    def name(self) -> str:
        """As commands take it: the channel, and the account if it is not the default one."""
        account = self.account
        return account.channel + ("" if account.account_id == DEFAULT_ACCOUNT else f"/{account.account_id}")


def account_json(configured: ConfiguredAccount, state: AccountState) -> dict[str, Any]:
    facts = state.facts
    return {
        "name": configured.name,
        "channel": configured.account.channel,
        "accountId": configured.account.account_id,
        "enabled": configured.enabled,
        "hasToken": configured.has_token,
        "receives": configured.receives,
        "botName": facts.get("botName") or None,
        "address": facts.get("address") or None,
        "receiver": state.holder or None,
        "lastPollAt": _time(facts, "last_poll_at"),
        "lastUpdateAt": _time(facts, "last_update_at"),
        "lastError": facts.get("lastError") or None,
        "lastErrorAt": _time(facts, "lastErrorAt"),
        "waitingUpdates": state.waiting,
    }


def refused_update_json(note: Mapping[str, Any]) -> dict[str, Any]:
    return {name: note.get(name) for name in ("at", "updates", "chat", "reason")}


def blocked_chat_json(chat: str, note: Mapping[str, Any]) -> dict[str, Any]:
    return {"chat": chat, "at": note.get("at"), "reason": note.get("reason")}


def _time(facts: Mapping[str, str], name: str) -> int | None:
    value = facts.get(name, "")
    return int(value) if value.isdecimal() else None
