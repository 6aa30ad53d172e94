"""The skills of this machine, for `ocw skills`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import resolve_agent, workspace_dir
from openclaw_workers.engine.skills.catalog_of import skill_catalog
from openclaw_workers.skills.catalog import AgentSkills
from openclaw_workers.skills.listing import location
from openclaw_workers.skills.names import unknown_names
from openclaw_workers.skills.skill import Skill


class SkillsHere:
    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._catalog = skill_catalog(loaded.settings, loaded.state_dir)

    def workspace(self, agent_id: str) -> Path:
        return workspace_dir(self._loaded.settings, agent_id, self._loaded.state_dir)

    def of_agent(self, agent_id: str) -> AgentSkills:
        return self._catalog.for_agent(resolve_agent(self._loaded.settings, agent_id), self.workspace(agent_id))

    def location(self, skill: Skill, agent_id: str) -> str:
        return location(skill, self.workspace(agent_id), Path.home())

    def problems(self, agents: Sequence[str]) -> list[dict[str, str]]:
        found = {problem for agent in agents for problem in self.of_agent(agent).problems}
        return [{"path": each.path, "why": each.why} for each in sorted(found, key=lambda each: each.path)]

    def warnings(self, agents: Sequence[str]) -> list[str]:
        """Configured names that no skill has."""
        settings = self._loaded.settings
        return unknown_names(settings.skills, [(resolve_agent(settings, each), self.of_agent(each)) for each in agents])
