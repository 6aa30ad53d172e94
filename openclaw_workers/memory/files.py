"""Which files are memory, how they are named in results, and who may see them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from openclaw_workers.memory.scopes import SHARED, peer_scope, session_scope

ROOT_NAMES = ("MEMORY.md", "memory.md")
FOLDER = "memory"
PEERS = "peers"
MAX_BYTES = 4 << 20
"""Larger files are not indexed."""
SESSION_LINE = "- Session: "
"""Begins the line of a saved conversation that says which session it was; only that session's scope sees the file."""
_SEEN_BYTES = 1_024
_SESSION = re.compile(rf"^{re.escape(SESSION_LINE)}`?(agent:[^\s`]+)`?\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MemoryRoots:
    """Where an agent's memory files lie."""

    workspace: Path
    agent_dir: Path
    """`<state>/agents/<id>/agent`: MEMORY.md and memory/ are read there too."""
    agent_id: str
    extra: tuple[str, ...] = ()
    """More files and directories, absolute or relative to the workspace."""


class MemoryFile(NamedTuple):
    path: str
    """As results name it: relative to the workspace, or absolute for configured paths outside it."""
    real: str
    mtime_ns: int
    size: int

    @property
    def version(self) -> str:
        return f"{self.mtime_ns}:{self.size}"


def memory_files(roots: MemoryRoots) -> list[MemoryFile]:
    """All memory files. Links are not followed, and a file that is reached twice is listed once.

    Every search looks at all of them, so this is written for speed: one call of the system for each file.
    """
    found: dict[str, MemoryFile] = {}
    for file in _candidates(roots):
        # The first name wins: a workspace may itself be one of the extra paths.
        found.setdefault(file.real, file)
    return sorted(found.values(), key=attrgetter("path"))


def find_file(roots: MemoryRoots, named: str) -> MemoryFile | None:
    """The memory file of this name; None if there is none, or if the name is no memory path."""
    wanted = named.strip().removeprefix("./")
    return next((file for file in memory_files(roots) if wanted in (file.path, file.real)), None)


def scope_of_file(path: str, text: str) -> str:
    """Who may see a file: all sessions of the agent, one person's direct chat, or the session it was saved from."""
    parts = path.split("/")
    if parts[:2] == [FOLDER, PEERS] and len(parts) > 3:
        return peer_scope(parts[2])
    # Only the head counts: a quoted line further down must not move the file to another session's scope.
    found = _SESSION.search(text[:_SEEN_BYTES])
    return session_scope(found[1]) if found else SHARED


def read_text(file: MemoryFile) -> str:
    with open(file.real, "rb") as opened:
        return opened.read(MAX_BYTES).decode("utf-8-sig", errors="replace")


def date_in(path: str) -> str:
    """The day in the name of a daily file, `2026-01-31`; "" if there is none."""
    found = re.match(r"(\d{4}-\d{2}-\d{2})(?:-|\.md$)", path.rsplit("/", 1)[-1])
    return found[1] if found else ""


def _candidates(roots: MemoryRoots) -> Iterator[MemoryFile]:
    yield from _in_root(roots.workspace, "")
    yield from _in_root(roots.agent_dir, f"agents/{roots.agent_id}/agent/")
    for given in roots.extra:
        path = Path(given).expanduser()
        absolute = path if path.is_absolute() else roots.workspace / path
        yield from _extra(given.rstrip("/"), absolute)


def _in_root(root: Path, prefix: str) -> Iterator[MemoryFile]:
    for name in ROOT_NAMES:
        yield from _file(root / name, f"{prefix}{name}")
    yield from _markdown_in(root / FOLDER, f"{prefix}{FOLDER}")


def _extra(shown: str, path: Path) -> Iterator[MemoryFile]:
    if path.is_dir() and not path.is_symlink():
        yield from _markdown_in(path, shown)
    elif path.suffix == ".md":
        yield from _file(path, shown)


def _file(path: Path, shown: str) -> Iterator[MemoryFile]:
    try:
        info = os.lstat(path)
    except OSError:
        return
    if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_BYTES:
        # The folder may be reached through links, the file itself may not. So only the folder is resolved.
        real = os.path.join(os.path.realpath(path.parent), path.name)
        yield MemoryFile(shown, real, info.st_mtime_ns, info.st_size)


def _markdown_in(folder: Path, shown: str) -> list[MemoryFile]:
    found: list[MemoryFile] = []
    if not folder.is_symlink():
        _walk(os.path.realpath(folder), shown, found)
    return found


def _walk(folder: str, shown: str, found: list[MemoryFile]) -> None:
    """Add the Markdown files below a folder. It is opened, so that a look at a file need not find its folder again."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with os.scandir(opened) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith("."):
                    continue
                if name.endswith(".md") and entry.is_file(follow_symlinks=False):
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # it was removed meanwhile
                    if info.st_size <= MAX_BYTES:
                        found.append(MemoryFile(f"{shown}/{name}", f"{folder}/{name}", info.st_mtime_ns, info.st_size))
                elif entry.is_dir(follow_symlinks=False):
                    _walk(f"{folder}/{name}", f"{shown}/{name}", found)
    finally:
        os.close(opened)
