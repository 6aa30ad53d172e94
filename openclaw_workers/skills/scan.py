"""Find the skills below one directory, and notice cheaply whether anything there has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from openclaw_workers.config.skills import SkillLimitsSettings
from openclaw_workers.skills.frontmatter import BadFrontmatter
from openclaw_workers.skills.roots import Root
from openclaw_workers.skills.skill import FILE_NAME, Problem, Skill, parse_skill

MAX_DEPTH = 3
"""How deep below its root a skill's folder may lie: collections sort them by author or subject."""
_NOT_SKILLS = frozenset({"readme.md", "license.md", "changelog.md", "contributing.md", "agents.md", "claude.md"})
_SKIPPED = frozenset({"node_modules", "__pycache__"})

Mark = tuple[int, int, int] | None
"""Time of change, size and inode of a file or directory; None if there is none."""


def mark_of(path: str) -> Mark:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@dataclass(frozen=True, slots=True)
class RootScan:
    """What was found below a root, and what to look at to see whether it has changed."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()
    marks: dict[str, Mark] = field(default_factory=dict)
    files: dict[str, Skill | Problem] = field(default_factory=dict)
    """What each file was read as."""

    def is_current(self) -> bool:
        return all(mark_of(path) == mark for path, mark in self.marks.items())


def scan(root: Root, limits: SkillLimitsSettings, before: RootScan | None = None) -> RootScan:
    """Look through a root. Files that have not changed since the scan `before` are not read again."""
    return _Scanner(root, limits, before or RootScan()).scan()


class _Scanner:
    def __init__(self, root: Root, limits: SkillLimitsSettings, before: RootScan) -> None:
        self._root = root
        self._limits = limits
        self._before = before
        self._marks: dict[str, Mark] = {}
        self._files: dict[str, Skill | Problem] = {}
        self._problems: list[Problem] = []
        self._left = limits.max_candidates_per_root

    def scan(self) -> RootScan:
        top = self._top()
        for path, is_flat in self._candidates(top, 0):
            self._read(path, is_flat)
        skills = [found for found in self._files.values() if isinstance(found, Skill)]
        problems = [found for found in self._files.values() if isinstance(found, Problem)]
        most = self._limits.max_skills_loaded_per_source
        if len(skills) > most:
            why = f"it holds {len(skills)} skills; the first {most} are loaded (skills.limits.maxSkillsLoadedPerSource)"
            self._problems.append(Problem(self._root.path, why))
        return RootScan(tuple(skills[:most]), (*problems, *self._problems), self._marks, self._files)

    def _top(self) -> str:
        """The directory with the skills: of a repository whose root is given, its own `skills`."""
        nested = os.path.join(self._root.path, "skills")
        # Noted even if it is missing, so that creating it later counts as a change.
        self._marks[nested] = mark_of(nested)
        has_skills = self._marks[nested] is not None and any(
            os.path.isfile(os.path.join(nested, name, FILE_NAME)) for name in _names(nested)
        )
        return nested if has_skills else self._root.path

    def _candidates(self, folder: str, depth: int) -> Iterator[tuple[str, bool]]:
        """Files that may be skills, by name, each with whether it stands alone."""
        self._marks[folder] = mark_of(folder)
        own = os.path.join(folder, FILE_NAME)
        # Also a broken link: it is reported as a problem instead of being skipped.
        if os.path.lexists(own):
            yield own, False
            return
        for name in _names(folder):
            if name.startswith(".") or name in _SKIPPED:
                continue
            if self._left <= 0:
                most = self._limits.max_candidates_per_root
                why = f"it has more than {most} entries; the rest is not looked at (skills.limits.maxCandidatesPerRoot)"
                self._problems.append(Problem(self._root.path, why))
                return
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                self._left -= 1
                if depth < MAX_DEPTH and self._stays_inside(path):
                    yield from self._candidates(path, depth + 1)
            # Single files only at the top: inside a folder, Markdown files belong to the skill there.
            elif depth == 0 and name.endswith(".md") and name.lower() not in _NOT_SKILLS:
                self._left -= 1
                yield path, True

    def _stays_inside(self, path: str) -> bool:
        if not self._root.inside:
            return True
        inside = os.path.realpath(self._root.inside)
        if os.path.realpath(path).startswith(inside.rstrip("/") + "/"):
            return True
        why = "it leads out of the workspace; copy it, or name its directory in skills.load.extraDirs"
        self._problems.append(Problem(path, why))
        return False

    def _read(self, path: str, is_flat: bool) -> None:
        mark = self._marks[path] = mark_of(path)
        known = self._before.files.get(path)
        if known is not None and self._before.marks.get(path) == mark and mark is not None:
            self._files[path] = known
            return
        if not self._stays_inside(path):
            return
        try:
            self._files[path] = parse_skill(
                self._text(path), os.path.realpath(path), self._root.source, is_flat=is_flat
            )
        except BadFrontmatter as error:
            self._files[path] = Problem(path, str(error))
        except OSError as error:
            self._files[path] = Problem(path, f"it cannot be read: {error.strerror or error}")

    def _text(self, path: str) -> str:
        most = self._limits.max_skill_file_bytes
        # Without blocking: opening a named pipe would wait for a writer forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not os.path.isfile(path):
                raise BadFrontmatter("it is not a regular file")
            # One more than allowed shows that there is more; the file may still be growing.
            data = file.read(most + 1)
        if len(data) > most:
            raise BadFrontmatter(f"it has more than {most:,} bytes (skills.limits.maxSkillFileBytes)")
        return data.decode("utf-8", errors="replace")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
