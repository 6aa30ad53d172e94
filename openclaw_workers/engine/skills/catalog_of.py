"""The skills of this host, as the configuration has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.intake.commands.registry import COMMANDS
from openclaw_workers.skills.catalog import SkillCatalog
from openclaw_workers.skills.eligibility import SkillHost
from openclaw_workers.skills.roots import SkillPlaces

RESERVED = frozenset({"skill", *(name for command in COMMANDS.values() for name in command.names)})
"""Slash commands that no skill can take."""


def skill_catalog(settings: Settings, state_dir: Path, plugins: Sequence[Path] = ()) -> SkillCatalog:
    """`plugins`: folders of skills that come with plugins."""
    places = SkillPlaces(state_dir, Path.home(), extra=settings.skills.load.extra_dirs, plugins=tuple(plugins))
    return SkillCatalog(places, SkillHost(settings), reserved_commands=RESERVED)
