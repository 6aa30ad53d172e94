"""Tell those who accept messages which slash commands the skills of each agent add, and warn of wrong names."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import filterfalse

import structlog

from openclaw_workers.config.resolve import agent_ids
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.skills.catalog import SkillCatalog
from openclaw_workers.skills.names import unknown_names
from openclaw_workers.store.skill_commands import SkillCommands

log = structlog.get_logger(__name__)

EVERY_SECONDS = 5.0


class SkillPublisher:
    """Every worker publishes what it sees when that changes; of two hosts that differ, the later one is believed."""

    def __init__(
        self,
        *,
        store: SkillCommands,
        catalog: SkillCatalog,
        agents: AgentConfigs,
        settings: Settings,
        is_elsewhere: Callable[[str], bool],
    ) -> None:
        """`is_elsewhere` says of an agent that this host does not see its files."""
        self._is_elsewhere = is_elsewhere
        self._store = store
        self._catalog = catalog
        self._agents = agents
        self._settings = settings
        self._next = 0.0
        self._published: dict[str, tuple[SkillCommand, ...]] = {}
        self._said: set[str] = set()

    def publish_now_and_then(self) -> None:
        """Called at the start of each sweep."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_SECONDS
        try:
            self.publish()
        except OSError as error:
            log.warning("skills.unreadable", error=str(error))

    def publish(self) -> None:
        found = []
        for agent_id in filterfalse(self._is_elsewhere, agent_ids(self._settings)):
            agent = self._agents.resolve(agent_id)
            skills = self._catalog.for_agent(agent, self._agents.workspace(agent_id))
            found.append((agent, skills))
            if self._published.get(agent_id) != skills.commands:
                self._store.publish(agent_id, skills.commands)
                self._published[agent_id] = skills.commands
        problems = (f"{problem.path}: {problem.why}" for _, skills in found for problem in skills.problems)
        for warning in (*unknown_names(self._settings.skills, found), *problems):
            if warning not in self._said:
                self._said.add(warning)
                log.warning("skills.problem", problem=warning)
