"""Which sessions the session tools of a turn may see and write to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of, is_subagent
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.lineage import is_sandboxed
from openclaw_workers.store.reader import Reader


class Reach(StrEnum):
    """Where the sessions are that a viewer can see at most; a list need not look at others."""

    SELF = "self"
    CHILDREN = "children"
    BELOW = "below"
    ALL = "all"


_REACH_BY_SETTING = {"self": Reach.SELF, "tree": Reach.BELOW}


class Visibility:
    """What one session may see. A denial gives the reason, but not whether the other session exists."""

    def __init__(self, settings: Settings, viewer: Parent, reader: Reader) -> None:
        self._settings = settings
        self._viewer = viewer
        self._reader = reader
        self._parents: dict[str, str] = {}

    def denial(self, session: SessionKey, row: Mapping[str, str] | None = None) -> str | None:
        """Why this session may not be seen, or None. Pass `row` if it was read already."""
        me = self._viewer.session
        if session == me:
            return None
        if row is not None:
            self._parents[session] = row.get("spawnedBy", "")
        if self._sees_only_spawned:
            return None if self._parent(session) == me else "you are sandboxed and see only sessions that you spawned"
        if is_subagent(me):
            return None if self._parent(session) == me else "a sub-agent sees only itself and the sub-agents it started"
        if not self._viewer.authority.covers(Authority.OWNER):
            # An owner's conversations are not for others to read, nor to write to.
            return None if self._is_below(session) else "whoever asked may see only this session and what it spawned"
        return self._by_setting(session)

    def reach(self) -> Reach:
        if self._sees_only_spawned or is_subagent(self._viewer.session):
            return Reach.CHILDREN
        if not self._viewer.authority.covers(Authority.OWNER):
            return Reach.BELOW
        return _REACH_BY_SETTING.get(self._settings.tools.sessions.visibility, Reach.ALL)

    @property
    def _sees_only_spawned(self) -> bool:
        viewer = self._viewer
        is_apart = is_sandboxed(viewer.agent, viewer.session, self._settings.session.main_key)
        return is_apart and viewer.agent.sandbox.session_tools_visibility == "spawned"

    def _by_setting(self, session: SessionKey) -> str | None:
        wanted = self._settings.tools.sessions.visibility
        if wanted == "self":
            return "tools.sessions.visibility lets you see only your own session"
        if self._is_below(session):
            return None
        if wanted == "tree":
            return "tools.sessions.visibility lets you see only what you spawned"
        mine, other = self._viewer.agent.id, agent_of(session)
        return None if mine == other else self._other_agent(mine, other)

    def _other_agent(self, mine: str, other: str) -> str | None:
        rules, sessions = self._settings.tools.agent_to_agent, self._settings.tools.sessions
        if sessions.visibility == "agent" and "visibility" in sessions.model_fields_set:
            return "tools.sessions.visibility lets you see only sessions of your own agent"
        if not rules.enabled:
            return "sessions of other agents are out of reach: tools.agentToAgent is not enabled"
        if sessions.visibility == "all" and not rules.allow:
            return None  # both are asked for in so many words, and nobody is named
        for rule in rules.allow:
            if fnmatchcase(mine, rule.from_) and fnmatchcase(other, rule.to):
                return None
        return f"tools.agentToAgent.allow does not let {mine} reach {other}"

    def _is_below(self, session: SessionKey) -> bool:
        """Whether the viewer, or a session below it, spawned this one; a cycle ends the search."""
        seen: set[str] = set()
        key: str = session
        while key and key not in seen:
            seen.add(key)
            key = self._parent(key)
            if key == self._viewer.session:
                return True
        return False

    def _parent(self, session: str) -> str:
        if session not in self._parents:
            self._parents[session] = self._reader.row(SessionKey(session)).get("spawnedBy", "")
        return self._parents[session]
