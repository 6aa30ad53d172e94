"""Files of the workspace that belong into the system prompt: who the agent is, whom it serves, how it works."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.base import PromptMode
from openclaw_workers.domain.tree import Role
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.files.paths import locate, parent_directory

FULL = (
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "MEMORY.md",
    "memory.md",
    "CLAUDE.md",
)
MINIMAL = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md")
"""For sub-agents and scheduled turns: how to work, but not what is private to the main conversation."""

LARGEST_BYTES = 2 << 20
LEAST_ROOM = 256
"""Characters left of the total below which no file is begun that does not fit."""

_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class ContextFile:
    name: str
    text: str
    chars: int
    """Of the whole file; more than `text` has if it was cut."""


def file_names(mode: PromptMode | None, role: Role) -> Sequence[str]:
    """By the role, unless nothing is told: what is private to the main conversation is not for sub-agents."""
    if mode == "none":
        return ()
    return FULL if role is Role.MAIN else MINIMAL


def signature(workspace: Path, names: Sequence[str] = FULL) -> Signature:
    """Changes when one of the files does, so that a prompt can be kept until then."""
    found: list[tuple[str, int, int, int]] = []
    for name in names:
        with suppress(OSError):
            info = os.stat(workspace / name)
            found.append((name, info.st_mtime_ns, info.st_size, info.st_ino))
    return tuple(found)


def load(
    workspace: Path, names: Sequence[str] = FULL, *, max_chars: int = 20_000, total_max_chars: int = 150_000
) -> list[ContextFile]:
    """The files that are there, in this order, each cut to its limit and all to theirs; a cut can be seen."""
    loaded: list[ContextFile] = []
    left_out: list[str] = []
    seen: set[tuple[int, int]] = set()
    room = total_max_chars
    for name in names:
        text = _read(workspace, name, seen)
        if not text:
            continue
        if len(text) > room < LEAST_ROOM:
            left_out.append(name)
            continue
        shown = _cut(name, text, min(max_chars, room))
        room -= len(shown)
        loaded.append(ContextFile(name, shown, len(text)))
    if left_out:
        note = texts.FILES_LEFT_OUT.format(names=", ".join(left_out))
        loaded.append(ContextFile(texts.MORE_FILES_HEADING, note, len(note)))
    return loaded


def _read(workspace: Path, name: str, seen: set[tuple[int, int]]) -> str:
    """A plain file inside the workspace; a link that leads out of it, a pipe and the like are not there for us.

    One file under two names, such as a link from CLAUDE.md to AGENTS.md, is read once.
    """
    try:
        place = locate(workspace, name)
        with parent_directory(place) as folder:
            descriptor = os.open(place.parts[-1], _PLAIN, dir_fd=folder)
        try:
            return _content(descriptor, seen)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ToolError):
        return ""
    except OSError as error:
        return texts.FILE_UNREADABLE.format(why=error.strerror)


def _content(descriptor: int, seen: set[tuple[int, int]]) -> str:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or (info.st_dev, info.st_ino) in seen:
        return ""
    seen.add((info.st_dev, info.st_ino))
    if info.st_size > LARGEST_BYTES:
        return texts.FILE_TOO_LARGE.format(size=info.st_size)
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(LARGEST_BYTES).decode("utf-8-sig", errors="replace").strip()


def _cut(name: str, text: str, most: int) -> str:
    """Seventy percent of the limit from the start, twenty from the end, and between them what was left out."""
    if len(text) <= most:
        return text
    note = texts.FILE_CUT.format(name=name, chars=len(text))
    room = max(0, most - len(note))
    head, tail = min(most * 7 // 10, room * 7 // 9), min(most * 2 // 10, room * 2 // 9)
    return f"{text[:head]}{note}{text[len(text) - tail :]}"
