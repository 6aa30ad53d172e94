"""Places for skills in a temporary directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.skills.catalog import AgentSkills, SkillCatalog
from openclaw_workers.skills.eligibility import SkillHost
from openclaw_workers.skills.roots import SkillPlaces


def text_of(name: str, description: str = "d", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n# {name}\n"


def put(folder: Path, name: str, description: str = "d", more: str = "") -> Path:
    """A skill in its own folder."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(name, description, more))
    return path


@dataclass
class SkillHarness:
    top: Path
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.top / "state"

    @property
    def home(self) -> Path:
        return self.top / "home"

    def workspace(self, agent: str = "main") -> Path:
        return self.top / f"workspace-{agent}"

    def settings(self) -> Settings:
        load = {"watchDebounceMs": 0, **self.config.pop("load", {})}
        agents = self.config.pop("agents", {})
        return Settings.model_validate({"skills": {"load": load, **self.config}, "agents": agents})

    def catalog(self) -> SkillCatalog:
        settings = self.settings()
        self.used = settings
        extra = settings.skills.load.extra_dirs
        places = SkillPlaces(self.state, self.home, extra=extra, bundled=self.top / "bundled")
        return SkillCatalog(places, SkillHost(settings, environment={}), reserved_commands={"help"})

    def find(self, catalog: SkillCatalog | None = None, agent: str = "main") -> AgentSkills:
        catalog = catalog or self.catalog()
        return catalog.for_agent(resolve_agent(self.used, agent), self.workspace(agent))


@pytest.fixture
def places(tmp_path: Path) -> SkillHarness:
    return SkillHarness(tmp_path)
