"""The skills of agents as JSON: what each is offered on this host, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openclaw_workers.config.resolve import AgentConfig, resolve_agent, workspace_dir
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.skills.catalog_of import skill_catalog
from openclaw_workers.skills.catalog import AgentSkills, SkillCatalog
from openclaw_workers.skills.json_forms import skill_json
from openclaw_workers.skills.listing import location
from openclaw_workers.skills.names import unknown_names
from openclaw_workers.skills.skill import Skill

Json = dict[str, Any]


class SkillReports:
    """`judge` names the worker that judges; empty for a machine where none was asked."""

    def __init__(
        self,
        settings: Settings,
        catalog: SkillCatalog,
        *,
        resolve: Callable[[str], AgentConfig],
        workspace: Callable[[str], Path],
        judge: str = "",
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._resolve = resolve
        self._workspace = workspace
        self._judge = judge

    def report(self, agents: Sequence[str], with_text_of: str = "") -> Json:
        """All skills of these agents, files that are none, and configured names that no skill has.

        `with_text_of`: a name; the skills of that name have their text too.

        Raises:
            NotFound: there is no such agent.
        """
        found = {agent: self._of(agent) for agent in agents}
        problems = {problem for skills in found.values() for problem in skills.problems}
        named = [(self._resolve(agent), skills) for agent, skills in found.items()]
        return {
            "judgedBy": self._judge or None,
            "agents": {agent: self._all_json(agent, skills, with_text_of) for agent, skills in found.items()},
            "problems": [{"path": each.path, "why": each.why} for each in sorted(problems, key=lambda one: one.path)],
            "warnings": unknown_names(self._settings.skills, named),
        }

    def _of(self, agent: str) -> AgentSkills:
        # Who has just added a skill asks for it next.
        return self._catalog.for_agent(self._resolve(agent), self._workspace(agent), look_again=True)

    def _all_json(self, agent: str, found: AgentSkills, with_text_of: str) -> list[Json]:
        commands = {each.skill: each.name for each in found.commands}
        reasons = {skill.name: reason for skill, reason in found.refused}
        every = [*found.skills, *(skill for skill, _ in found.refused)]
        return [
            {
                **skill_json(
                    skill,
                    reason=reasons.get(skill.name, ""),
                    command=commands.get(skill.name, ""),
                    location=location(skill, self._workspace(agent), Path.home()),
                ),
                **({"text": _text(skill)} if skill.name == with_text_of else {}),
            }
            for skill in sorted(every, key=lambda skill: skill.name)
        ]


def _text(skill: Skill) -> str:
    return Path(skill.path).read_text(encoding="utf-8", errors="replace")


def skills_of_machine(settings: Settings, state_dir: Path) -> SkillReports:
    """What this machine can tell without a worker. It loads no plugins, so theirs are missing."""
    return SkillReports(
        settings,
        skill_catalog(settings, state_dir),
        resolve=lambda agent: resolve_agent(settings, agent),
        workspace=lambda agent: workspace_dir(settings, agent, state_dir),
    )
