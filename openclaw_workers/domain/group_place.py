"""A group of a channel, which may have a tool policy of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A sub-agent has the place of the session at the root of its tree; its row keeps it."""

    channel: str
    account_id: str
    chat_id: str

    def stored(self) -> str:
        return "|".join((self.channel, self.account_id, self.chat_id))

    @staticmethod
    def parse(stored: str) -> GroupPlace | None:
        channel, _, rest = stored.partition("|")
        account_id, _, chat_id = rest.partition("|")
        return GroupPlace(channel, account_id, chat_id) if channel and chat_id else None
