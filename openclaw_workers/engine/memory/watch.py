"""When to look for changed memory files: a few seconds after they change, and at a set interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.memory.documents import roots_of
from openclaw_workers.memory.files import memory_files

LOOK_SECONDS = 2.0


@dataclass(slots=True)
class _Seen:
    versions: tuple[tuple[str, str], ...] = ()
    changed_at: float | None = None
    synced_at: float = 0.0


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
        interval = given.sync.interval_minutes * 60
        if interval and now - seen.synced_at >= interval:
            seen.synced_at = now
            return True
        if not given.sync.watch:
            return False
        roots = roots_of(agent_id, self._agents.workspace(agent_id), self._state_dir, given)
        versions = tuple((file.path, file.version) for file in memory_files(roots))
        if versions != seen.versions:
            seen.versions, seen.changed_at = versions, now
            return False
        if seen.changed_at is not None and (now - seen.changed_at) * 1000 >= given.sync.watch_debounce_ms:
            seen.changed_at = None
            return True
        return False
