"""A session's place in its tree: depth, root and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.config.subagents import SubagentsSettings
from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, least_authority
from openclaw_workers.domain.session_key import Kind, parse_key, subagent_depth_from_key
from openclaw_workers.domain.tree import Role, role_at
from openclaw_workers.store.reader import Reader


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """The limits of a whole tree. A child inherits those of the session that spawned it."""

    depth: int
    runs: int

    def as_row(self) -> dict[str, str]:
        return {"maxSpawnDepth": str(self.depth), "maxTreeRuns": str(self.runs)}


def limits_of(row: Mapping[str, str], own: SubagentsSettings) -> TreeLimits:
    """The least that any session from the root down to this one was configured with."""
    depth, runs = row.get("maxSpawnDepth", ""), row.get("maxTreeRuns", "")
    return TreeLimits(
        min(own.max_spawn_depth, int(depth)) if depth.isdigit() else own.max_spawn_depth,
        min(own.max_tree_runs, int(runs)) if runs.isdigit() else own.max_tree_runs,
    )


def depth_of(session: SessionKey, row: Mapping[str, str], reader: Reader) -> int:
    """The stored depth, else the parent's and one more, else what the key says; a cycle ends the search."""
    seen: set[str] = set()
    above, key, fields = 0, session, row
    while key not in seen:
        seen.add(key)
        stored = fields.get("spawnDepth", "")
        if stored.isdigit():
            return above + int(stored)
        parent = fields.get("spawnedBy")
        if not parent:
            break
        above, key = above + 1, SessionKey(parent)
        fields = reader.row(key)
    return above + subagent_depth_from_key(key)


def role_of(row: Mapping[str, str], depth: int, own: SubagentsSettings) -> Role:
    """The stored role, else the one that a session at this depth has.

    Raises:
        ValueError: what is stored is no role.
    """
    stored = row.get("subagentRole")
    return Role(stored) if stored else role_at(depth, limits_of(row, own).depth)


def root_of(session: SessionKey, row: Mapping[str, str]) -> SessionKey:
    return SessionKey(row.get("rootSessionKey") or session)


def group_of(session: SessionKey, row: Mapping[str, str], senders: tuple[str, ...] = ()) -> ChannelGroup | None:
    """The group whose tool policy applies: a spawned session has that of the turn that spawned it."""
    if row.get("spawnedBy"):
        return ChannelGroup.parse(row.get("toolGroup", ""))
    parsed = parse_key(session)
    if parsed.kind not in (Kind.GROUP, Kind.CHANNEL):
        return None
    return ChannelGroup(parsed.channel, row.get("lastAccountId", ""), parsed.peer, senders)


def senders_of(bound: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Ids of the senders of messages, by their metadata; none if one of them is not known."""
    found = {metadata.get("senderId", "") for metadata in bound}
    # A comma or a bar would be read as the next one where they are stored.
    return () if any(not each or "," in each or "|" in each for each in found) else tuple(sorted(found))


def authority_of(row: Mapping[str, str], turn: Authority) -> Authority:
    """The authority of a turn; in a spawned session never more than the turn had that spawned it."""
    spawned = row.get("spawnAuthority")
    return least_authority((turn, Authority(spawned))) if spawned in list(Authority) else turn


def is_sandboxed(agent: AgentSettings, session: SessionKey, main_key: str) -> bool:
    match agent.sandbox.mode:
        case "all":
            return True
        case "non-main":
            return parse_key(session, main_key=main_key).kind is not Kind.MAIN
        case "off":
            return False
