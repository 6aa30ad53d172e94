"""When to look for changed memory files: a few seconds after they change, and at a set interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.memory.documents import roots_of
from openclaw_workers.memory.files import MemoryFile, memory_files

LOOK_SECONDS = 2.0


class _Seen:
    """What was seen of one agent's files."""

    def __init__(self) -> None:
        self._files: list[MemoryFile] = []
        self._changed_at: float | None = None
        self._synced_at = 0.0

    def interval_is_over(self, now: float, seconds: float) -> bool:
        if not seconds or now - self._synced_at < seconds:
            return False
        self._synced_at = now
        return True

    def is_quiet_again(self, now: float, files: list[MemoryFile], seconds: float) -> bool:
        """Whether files have changed, and then not again for so long."""
        if files != self._files:
            self._files, self._changed_at = files, now
            return False
        if self._changed_at is None or now - self._changed_at < seconds:
            return False
        self._changed_at = None
        return True


class ChangeWatch:
    """Compares the files' times every two seconds. Directories may be mounted from elsewhere, so no kernel events."""

    def __init__(
        self,
        agents: AgentConfigs,
        agent_ids: Sequence[str],
        state_dir: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agents = agents
        self._state_dir = state_dir
        self._clock = clock
        self._seen = {agent: _Seen() for agent in agent_ids}
        self._looked_at = 0.0
        self._is_time = False

    def is_time(self) -> bool:
        """Whether the last `due` looked."""
        return self._is_time

    def due(self) -> list[str]:
        """The agents whose index should be brought up to date now."""
        now = self._clock()
        self._is_time = now - self._looked_at >= LOOK_SECONDS
        if not self._is_time:
            return []
        self._looked_at = now
        return [agent for agent, seen in self._seen.items() if self._is_due(agent, seen, now)]

    def _is_due(self, agent_id: str, seen: _Seen, now: float) -> bool:
        given = self._agents.resolve(agent_id).memory_search
        if not given.enabled:
            return False
        if seen.interval_is_over(now, given.sync.interval_minutes * 60):
            return True
        if not given.sync.watch:
            return False
        roots = roots_of(agent_id, self._agents.workspace(agent_id), self._state_dir, given)
        return seen.is_quiet_again(now, memory_files(roots), given.sync.watch_debounce_ms / 1000)
