"""An agent's memory as one running turn may see and use it: what the memory tools reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.memory.client import MemoryAccess, MemoryUnavailable
from openclaw_workers.engine.memory.documents import roots_of
from openclaw_workers.engine.memory.file_access import MemoryFiles
from openclaw_workers.engine.tree.lineage import is_sandboxed, root_of
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.memory.scopes import Visibility, is_group, visibility
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.memory.inputs import GetInput, SearchInput, WriteInput
from openclaw_workers.tools.memory.port import shows_citations

UNAVAILABLE_ADVICE = "Tell the user that memory could not be searched, and why; do not answer from memory as if it had."


@dataclass(frozen=True, kw_only=True)
class MemoryTools:
    """What the memory tools of all turns share."""

    access: Callable[[], MemoryAccess]
    agents: AgentConfigs
    settings: Settings
    state_dir: Path

    def for_turn(self, taken: Taken) -> TurnMemory:
        turn = TurnMemory(self, taken)
        turn.note_session_start()
        return turn


@dataclass(frozen=True)
class TurnMemory:
    """Implements tools.memory.port.MemoryPort for one turn."""

    tools: MemoryTools
    taken: Taken

    def search(self, args: SearchInput) -> str:
        asked = {"maxResults": args.maxResults, "minScore": args.minScore}
        try:
            found = self.tools.access().search(args.query, self._visible, asked)
        except (MemoryUnavailable, StoreUnavailable) as error:
            return json.dumps({"results": [], "unavailable": error.message, "advice": UNAVAILABLE_ADVICE})
        is_cited = self._is_cited
        found["results"] = [_cited(result) if is_cited else _uncited(result) for result in found["results"]]
        return json.dumps({**found, "citations": "on" if is_cited else "off"}, ensure_ascii=False)

    def get(self, args: GetInput) -> str:
        return self._answer(lambda: self._files.get(args.path, first=args.from_, count=args.lines))

    def write(self, args: WriteInput) -> str:
        def write() -> dict[str, Any]:
            written = self._files.append(args.content, args.path)
            self.tools.access().want_sync(self._visible.agent_id)
            return written

        return self._answer(write)

    def note_session_start(self) -> None:
        """Have the index brought up to date when a session begins; the turn does not wait for it."""
        given = self._agent.memory_search
        if given.enabled and given.sync.on_session_start and self.taken.row.get("turns", "0") == "0":
            try:
                self.tools.access().want_sync(self._visible.agent_id)
            except StoreUnavailable:
                return  # a search looks again

    def _answer(self, act: Callable[[], dict[str, Any]]) -> str:
        try:
            return json.dumps(act(), ensure_ascii=False)
        except OpenClawError as error:
            return json.dumps({"error": error.message, "disabled": True}, ensure_ascii=False)

    @cached_property
    def _agent(self) -> AgentConfig:
        return self.tools.agents.resolve(agent_of(self._root))

    @cached_property
    def _root(self) -> str:
        return root_of(self.taken.lease.session, self.taken.row)

    @cached_property
    def _visible(self) -> Visibility:
        """A sub-agent of another agent sees that agent's memory, with no scope of the session that asked."""
        session, agent_id = self.taken.lease.session, agent_of(self.taken.lease.session)
        root = self._root if agent_of(self._root) == agent_id else session
        agent, main_key = self.tools.agents.resolve(agent_id), self.tools.settings.session.main_key
        sandboxed = is_sandboxed(agent, session, main_key)
        access = agent.sandbox.workspace_access if sandboxed else "rw"
        return replace(visibility(root, workspace_access=access), agent_id=agent_id)

    @cached_property
    def _files(self) -> MemoryFiles:
        agent_id = self._visible.agent_id
        agent = self.tools.agents.resolve(agent_id)
        roots = roots_of(agent_id, self.tools.agents.workspace(agent_id), self.tools.state_dir, agent.memory_search)
        return MemoryFiles(roots, self._visible, agent.user_timezone)

    @property
    def _is_cited(self) -> bool:
        return shows_citations(self.tools.settings.memory.citations, is_group=is_group(self._root))


def _cited(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "snippet": f"{result['snippet']}\n\nSource: {result['citation']}"}


def _uncited(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "citation"}
