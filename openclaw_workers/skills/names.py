"""Names of skills in the configuration that no skill has."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.skills import SkillsSettings
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.skills.catalog import AgentSkills


def unknown_names(settings: SkillsSettings, found: Sequence[tuple[AgentConfig, AgentSkills]]) -> list[str]:
    """A warning for each name, with the nearest one that there is. `found` has all agents with their skills."""
    everywhere = {name for _, skills in found for name in skills.known_names}
    wanted = [(f"skills.entries.{name}", name, everywhere) for name in settings.entries]
    wanted += [("skills.allowBundled", name, everywhere) for name in settings.allow_bundled or ()]
    wanted += [
        (f"skills of agent {agent.id}", name, skills.known_names)
        for agent, skills in found
        for name in agent.skills or ()
    ]
    return [
        f"{where}: there is no skill {name!r}; {did_you_mean(name, known) or '`ocw skills list` shows them all'}"
        for where, name, known in wanted
        if name not in known
    ]
