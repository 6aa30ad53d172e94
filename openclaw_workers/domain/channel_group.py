"""A group of a channel, which may have a tool policy of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChannelGroup:
    """A sub-agent has the place of the session at the root of its tree; its row keeps it."""

    channel: str
    account_id: str
    chat_id: str
    senders: tuple[str, ...] = ()
    """Ids of those who asked for the turn; empty if that is not known of all of them."""

    def stored(self) -> str:
        parts = (self.channel, self.account_id, self.chat_id)
        return "|".join((*parts, ",".join(self.senders)) if self.senders else parts)

    @staticmethod
    def parse(stored: str) -> ChannelGroup | None:
        channel, account_id, chat_id, senders = (*stored.split("|", 3), "", "", "", "")[:4]
        if not channel or not chat_id:
            return None
        return ChannelGroup(channel, account_id, chat_id, tuple(filter(None, senders.split(","))))
