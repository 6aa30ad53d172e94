"""The skills of each agent on this host, kept until something changes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock

from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.skills.commands import skill_commands
from openclaw_workers.skills.eligibility import SkillHost
from openclaw_workers.skills.listing import location, skill_list
from openclaw_workers.skills.roots import Root, SkillPlaces
from openclaw_workers.skills.scan import RootScan, scan
from openclaw_workers.skills.skill import Problem, Skill

JUDGED_SECONDS = 10.0
"""How long a judgement holds while no file changes: a program may have been installed meanwhile."""
MOST_KEPT = 256


@dataclass(frozen=True, slots=True, eq=False)
class AgentSkills:
    """The skills that one agent may use here. Compared by identity: the same object means that nothing changed."""

    skills: tuple[Skill, ...] = ()
    prompt: str = ""
    version: int = 0
    """Differs whenever the list differs; the same on all hosts that have the same list."""
    snapshot: str = ""
    """For the session's row, as JSON; empty if nobody looked for skills."""
    readable: tuple[str, ...] = ()
    """Folders and files outside the workspace that its read tool may open."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the commands of its runs."""
    commands: tuple[SkillCommand, ...] = ()
    refused: tuple[tuple[Skill, str], ...] = ()
    """Skills that are not offered, each with the reason."""
    problems: tuple[Problem, ...] = ()

    @property
    def files(self) -> frozenset[str]:
        return frozenset(skill.path for skill in self.skills)

    @property
    def known_names(self) -> set[str]:
        """Names and keys of all skills that were found, offered or not."""
        found = [*self.skills, *(skill for skill, _ in self.refused)]
        return {name for skill in found for name in (skill.name, skill.key)}

    def command(self, name: str) -> SkillCommand | None:
        return next((each for each in self.commands if each.name == name), None)


NO_SKILLS = AgentSkills()


class SkillCatalog:
    """Many threads ask it at once; one of them looks at the disk, the others wait for it."""

    def __init__(self, places: SkillPlaces, host: SkillHost, *, reserved_commands: Collection[str] = ()) -> None:
        self._places = places
        self._host = host
        self._settings = host.settings.skills
        self._pause = self._settings.load.watch_debounce_ms / 1000
        self._reserved = reserved_commands
        self._scans: dict[Root, tuple[float, RootScan]] = {}
        self._agents: dict[tuple[str, Path, tuple[str, ...] | None], _Built] = {}
        self._roots = lru_cache(maxsize=MOST_KEPT)(places.roots)
        self._lock = Lock()

    def for_agent(self, agent: AgentConfig, workspace: Path, *, look_again: bool = False) -> AgentSkills:
        """What an agent with this workspace may use now. `look_again`: also at what changed a moment ago."""
        with self._lock:
            now = time.monotonic()
            pause = 0.0 if look_again else self._pause
            key = (agent.id, workspace, agent.skills)
            # The limits differ: `pause` spares the disk, `until` asks again for what no file shows, such as programs
            # in PATH.
            known = self._agents.get(key)
            if known is not None and now < min(known.looked + pause, known.until):
                return known.skills
            scans = [self._scan(root, now, pause) for root in self._roots(agent.id, workspace)]
            if known is not None and now < known.until and known.has(scans):
                known.looked = now
                return known.skills
            built = self._build(scans, agent, workspace)
            if known is not None and _same(known.skills, built):
                # The old object, because callers compare by identity: a new one would rebuild the prompt and lose its
                # cache.
                built = known.skills
            # Dropping all is rare and costs one look at the disk each; it spares keeping an order of use.
            if len(self._agents) >= MOST_KEPT:
                self._agents.clear()
            self._agents[key] = _Built(scans, now, now + JUDGED_SECONDS, built)
            return built

    def _scan(self, root: Root, now: float, pause: float) -> RootScan:
        looked, known = self._scans.get(root, (0.0, None))
        if known is not None:
            if not self._settings.load.watch or now < looked + pause:
                return known
            if known.is_current():
                self._scans[root] = now, known
                return known
        if len(self._scans) >= 4 * MOST_KEPT:
            self._scans.clear()
        found = scan(root, self._settings.limits, known)
        self._scans[root] = now, found
        return found

    def _build(self, scans: Sequence[RootScan], agent: AgentConfig, workspace: Path) -> AgentSkills:
        # Roots come in order of precedence, so a later skill replaces an earlier one of the same name.
        by_name = {skill.name: skill for found in scans for skill in found.skills}
        offered: list[Skill] = []
        refused: list[tuple[Skill, str]] = []
        for name in sorted(by_name):
            skill = by_name[name]
            why = self._host.refusal(skill) or _filtered(skill, agent)
            if why:
                refused.append((skill, why))
            else:
                offered.append(skill)
        home = self._places.home
        prompt = skill_list(offered, self._settings.limits, workspace, home)
        version, snapshot = _snapshot(offered, prompt, workspace, home)
        root = os.path.realpath(workspace)
        return AgentSkills(
            skills=tuple(offered),
            prompt=prompt,
            version=version,
            snapshot=snapshot,
            readable=tuple(skill.readable for skill in offered if not skill.path.startswith(f"{root}/")),
            environment={name: value for skill in offered for name, value in self._host.run_environment(skill).items()},
            commands=skill_commands(offered, self._reserved),
            refused=tuple(refused),
            problems=tuple(problem for found in scans for problem in found.problems),
        )


@dataclass(slots=True)
class _Built:
    scans: Sequence[RootScan]
    looked: float
    """When the disk was last looked at; this and the next by the monotonic clock."""
    until: float
    """When it has to be judged again."""
    skills: AgentSkills

    def has(self, scans: Sequence[RootScan]) -> bool:
        return all(one is other for one, other in zip(self.scans, scans, strict=True))


def _filtered(skill: Skill, agent: AgentConfig) -> str:
    if agent.skills is None or skill.name in agent.skills or skill.key in agent.skills:
        return ""
    return f"not among the skills of agent {agent.id}"


def _same(one: AgentSkills, other: AgentSkills) -> bool:
    return (
        one.version == other.version
        and one.skills == other.skills
        and one.environment == other.environment
        and one.refused == other.refused
        and one.problems == other.problems
    )


def _snapshot(skills: Sequence[Skill], prompt: str, workspace: Path, home: Path) -> tuple[int, str]:
    """Its version, and the whole as the session's row holds it."""
    named = [
        {"name": skill.name, **({"primaryEnv": skill.primary_env} if skill.primary_env else {})} for skill in skills
    ]
    resolved = [
        {"name": skill.name, "filePath": location(skill, workspace, home), "source": str(skill.source)}
        for skill in skills
    ]
    content = {"prompt": prompt, "skills": named, "resolvedSkills": resolved}
    # Sorted, because all hosts must get the same version for the same list.
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    version = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
    whole = {**content, "version": version}
    return version, json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
