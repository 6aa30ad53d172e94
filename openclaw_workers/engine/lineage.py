"""Where a session stands in its tree: depth, root, what it may do."""

from __future__ import annotations

from collections.abc import Mapping

from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.session_key import Kind, parse_key, subagent_depth_from_key
from openclaw_workers.store.reading import Reader


def depth_of(session: SessionKey, row: Mapping[str, str], reader: Reader) -> int:
    """The stored depth, else the parent's and one more, else what the key says; a chain that bites its tail ends."""
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


def root_of(session: SessionKey, row: Mapping[str, str]) -> SessionKey:
    return SessionKey(row.get("rootSessionKey") or session)


def is_sandboxed(agent: AgentConfig, session: SessionKey, main_key: str) -> bool:
    match agent.sandbox.mode:
        case "all":
            return True
        case "non-main":
            return parse_key(session, main_key=main_key).kind is not Kind.MAIN
        case "off":
            return False
