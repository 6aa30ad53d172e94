"""Who an agent is, and who owns it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from openclaw_workers.config.base import PeerIds, Section


def _named(ids: tuple[str, ...]) -> tuple[str, ...]:
    if any(listed.strip().rpartition(":")[2] in ("", "*") for listed in ids):
        raise ValueError("expected ids of people; a pattern such as * would make everybody an owner")
    return ids


OwnerIds = Annotated[PeerIds, AfterValidator(_named)]
"""Ids of owners: never a pattern, because an owner may do everything."""


class IdentitySettings(Section):
    name: str | None = None
    """What the agent calls itself; unset: its name."""

    emoji: str | None = None
    """The emoji that stands for it in chats."""

    theme: str | None = None
    """Its style, in a few words."""

    avatar: str | None = None
    """URL or workspace path of its picture."""

    owner_numbers: OwnerIds = ()
    """Senders who own this agent, as id or channel:id: they may use every command and tool. The prompt names them."""
