"""What the policy of a turn depends on."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tree import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInputs:
    agent_id: str
    model: str = ""
    """The agent's first model, as provider/model."""
    depth: int = 0
    role: Role = Role.MAIN
    authority: Authority = Authority.OWNER
    group: ChannelGroup | None = None
    is_sandboxed: bool = False
    incompatible: tuple[str, ...] = ()
    """Tools that the session's channel cannot be used with."""
