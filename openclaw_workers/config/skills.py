"""Skills: where they are looked for, which are offered, and what each is given."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from openclaw_workers.config.base import Names, Secret, Section, UserPath


class SkillEntrySettings(Section):
    enabled: StrictBool = True
    """Whether the skill is offered."""

    api_key: Secret | None = None
    """The skill's key: commands get it in the variable that the skill names as primaryEnv."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """Environment variables for commands of agents that have this skill; those of the worker win."""

    config: dict[str, Any] = Field(default_factory=dict)
    """Your own values, which a skill may require as skills.entries.<name>.config.<key>."""


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SkillLoadSettings(Section):
    extra_dirs: Annotated[tuple[UserPath, ...], BeforeValidator(_one_or_many)] = ()
    """More directories with skills; skills of the same name from other places win."""

    watch: StrictBool = True
    """Look for changed skills before each turn; false: each worker loads them once."""

    watch_debounce_ms: StrictInt = Field(default=250, ge=0)
    """Milliseconds between two checks of the same directory."""


class SkillLimitsSettings(Section):
    max_candidates_per_root: StrictInt = Field(default=300, ge=1)
    """Entries of one directory that are looked at."""

    max_skills_loaded_per_source: StrictInt = Field(default=200, ge=1)
    """Skills loaded from one directory."""

    max_skills_in_prompt: StrictInt = Field(default=150, ge=0)
    """Skills listed in a prompt."""

    max_skills_prompt_chars: StrictInt = Field(default=30_000, ge=0)
    """Characters of that list."""

    max_skill_file_bytes: StrictInt = Field(default=256_000, ge=1)
    """Size of a SKILL.md; larger ones are left out."""


class SkillsSettings(Section):
    allow_bundled: Names | None = None
    """Bundled skills to offer, by name; unset means all, [] none."""

    load: SkillLoadSettings = SkillLoadSettings.model_construct()
    """Where and when workers look for skills."""

    limits: SkillLimitsSettings = SkillLimitsSettings.model_construct()
    """How many skills are loaded and listed."""

    entries: dict[str, SkillEntrySettings] = Field(default_factory=dict)
    """Settings of single skills, by name or skillKey."""
