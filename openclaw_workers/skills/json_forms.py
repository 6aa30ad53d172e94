"""The JSON forms of skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw_workers.skills.install import Package
from openclaw_workers.skills.skill import Skill


def skill_json(skill: Skill, *, reason: str, command: str, location: str) -> dict[str, Any]:
    """A skill as it is found on this host. `reason`: why it is not offered; empty if it is."""
    requires = {
        "bins": list(skill.requires.bins),
        "anyBins": list(skill.requires.any_bins),
        "env": list(skill.requires.env),
        "config": list(skill.requires.config),
        "anyConfig": list(skill.requires.any_config),
    }
    return {
        "name": skill.name,
        "description": skill.description,
        "emoji": skill.emoji,
        "source": str(skill.source),
        "path": skill.path,
        "location": location,
        "offered": not reason,
        "reason": reason,
        "inPrompt": not reason and skill.is_listed,
        "command": f"/{command}" if command else "",
        "requires": _filled(requires),
        **({"os": list(skill.os)} if skill.os else {}),
        **({"primaryEnv": skill.primary_env} if skill.primary_env else {}),
        **({"homepage": skill.homepage} if skill.homepage else {}),
        **({"install": list(skill.install)} if skill.install else {}),
    }


def package_json(package: Package) -> dict[str, Any]:
    """A skill that is to be added."""
    skill = package.skill
    return {
        "name": skill.name,
        "description": skill.description,
        "files": [{"path": file.path, "bytes": file.size_bytes, "program": file.is_program} for file in package.files],
    }


def _filled(values: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: value for name, value in values.items() if value}
