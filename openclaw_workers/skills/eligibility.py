"""Whether a skill can be used on this host, and which environment variables its commands get."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.child_processes import clean_environment
from openclaw_workers.config.loader import ENVIRONMENT
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.skills import SkillEntrySettings
from openclaw_workers.skills.skill import Skill, Source

_OS_NAMES = {"macos": "darwin", "osx": "darwin", "windows": "win32"}
_NOTHING_SET = SkillEntrySettings()


@dataclass(frozen=True)
class SkillHost:
    """What skills are judged by: the configuration, and the host that runs the turn."""

    settings: Settings
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform
    find_program: Callable[[str], str | None] = shutil.which

    def refusal(self, skill: Skill) -> str:
        """Why a skill is not offered; empty if it is."""
        configured = self.settings.skills
        if not self._entry(skill).enabled:
            return f"switched off by skills.entries.{skill.key}.enabled"
        allowed = configured.allow_bundled
        if skill.source is Source.BUNDLED and allowed is not None and not {skill.name, skill.key} & set(allowed):
            return "not in skills.allowBundled"
        systems = [_OS_NAMES.get(name.lower(), name.lower()) for name in skill.os]
        if systems and self.platform not in systems:
            return f"for {', '.join(skill.os)}; this is {self.platform}"
        return "" if skill.always else self._missing(skill)

    def _missing(self, skill: Skill) -> str:
        """What it requires and this host lacks."""
        requires = skill.requires
        absent = [name for name in requires.bins if not self.find_program(name)]
        if absent:
            return f"needs the program {', '.join(absent)}"
        if requires.any_bins and not any(self.find_program(name) for name in requires.any_bins):
            return f"needs one of the programs {', '.join(requires.any_bins)}"
        return self._unset_variables(skill) or self._unset_settings(skill)

    def _unset_variables(self, skill: Skill) -> str:
        unset = [name for name in skill.requires.env if not self._value(skill, name)]
        if not unset:
            return ""
        where = f"set it in skills.entries.{skill.key}.env"
        # The variable is set, but not for skills. Saying only that it is missing would send people the wrong way.
        if withheld := [name for name in unset if self.environment.get(name)]:
            return f"is not given the worker's own {', '.join(withheld)}; {where}"
        return f"needs the environment variable {', '.join(unset)}; {where}"

    def _unset_settings(self, skill: Skill) -> str:
        wanted, any_of = skill.requires.config, skill.requires.any_config
        if unset := [path for path in wanted if not self._is_configured(path)]:
            return f"needs the setting {', '.join(unset)}"
        if any_of and not any(map(self._is_configured, any_of)):
            return f"needs one of the settings {', '.join(any_of)}"
        return ""

    def run_environment(self, skill: Skill) -> dict[str, str]:
        """The variables that commands of a run with this skill get."""
        names = dict.fromkeys((*skill.variables, *self._entry(skill).env))
        return {name: value for name in names if (value := self._value(skill, name))}

    def _value(self, skill: Skill, name: str) -> str:
        """A variable as commands see it; empty if they do not.

        A skill in a workspace may have been written by the agent. So it cannot name variables of the worker and get
        them: it gets only what the configuration has for it. The installation's own keys are given to no skill.
        """
        entry, own = self._entry(skill), self.environment.get(name, "")
        is_ours = name in ENVIRONMENT or name.startswith("OPENCLAW_")
        if own and skill.source is not Source.WORKSPACE and not is_ours:
            return own
        if name in entry.env:
            return entry.env[name].get_secret_value()
        if name == skill.primary_env and entry.api_key is not None:
            return entry.api_key.get_secret_value()
        # What every command gets anyway, such as PATH or HOME.
        return clean_environment().get(name, "")

    def _entry(self, skill: Skill) -> SkillEntrySettings:
        entries = self.settings.skills.entries
        return entries.get(skill.key) or entries.get(skill.name) or _NOTHING_SET

    def _is_configured(self, path: str) -> bool:
        value: Any = self.settings
        for part in path.split("."):
            value = _member(value, part)
        return bool(value)


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    fields = getattr(type(value), "model_fields", {})
    return next((getattr(value, key) for key, info in fields.items() if name in (key, info.alias)), None)
