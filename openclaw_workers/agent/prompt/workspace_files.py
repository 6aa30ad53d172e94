"""Load the workspace files that go into the system prompt, such as AGENTS.md, SOUL.md and USER.md."""

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
"""For sub-agents, if their settings say so: without the files that are private to the main conversation."""

PRIVATE = frozenset({"USER.md", "MEMORY.md", "memory.md"})
"""What they hold is between the agent and its owner: not for groups, and not for others who write to it."""

MAX_FILE_BYTES = 2 << 20
MIN_ROOM = 256
"""If fewer characters of the total are left, a file that does not fit is left out instead of cut."""

# O_NOFOLLOW: a link may appear after `locate` has looked. O_NONBLOCK: opening a pipe would wait for its writer.
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class ContextFile:
    name: str
    text: str
    chars: int
    """The length of the whole file; larger than that of `text` if it was cut."""


def file_names(
    mode: PromptMode | None, role: Role, *, is_private: bool = True, for_children: bool = False
) -> Sequence[str]:
    """The files for a role: none in a minimal prompt, and for sub-agents none that belong to the main conversation.

    `is_private`: an owner asked in a direct chat. `for_children`: the minimal prompt of sub-agents has files too.
    """
    is_child = role is not Role.MAIN
    wanted = mode or ("minimal" if is_child else "full")
    if wanted == "none" or (wanted == "minimal" and not (is_child and for_children)):
        return ()
    names = MINIMAL if is_child else FULL
    return names if is_private else tuple(name for name in names if name not in PRIVATE)


def signature(workspace: Path, names: Sequence[str] = FULL) -> Signature:
    """Changes when one of the files changes, so that a prompt can be cached until then."""
    found: list[tuple[str, int, int, int]] = []
    for name in names:
        with suppress(OSError):
            info = os.stat(workspace / name)
            found.append((name, info.st_mtime_ns, info.st_size, info.st_ino))
    return tuple(found)


def load(
    workspace: Path, names: Sequence[str] = FULL, *, max_chars: int = 20_000, total_max_chars: int = 150_000
) -> list[ContextFile]:
    """Load the existing files in this order. Each is cut to `max_chars` and all to the total, with visible notes."""
    loaded: list[ContextFile] = []
    left_out: list[str] = []
    seen: set[tuple[int, int]] = set()
    room = total_max_chars
    for name in names:
        text = _read(workspace, name, seen)
        if not text:
            continue
        if len(text) > room < MIN_ROOM:
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
    """Read a regular file inside the workspace. A link that leads outside, a pipe and the like count as missing.

    A file with two names, such as a link from CLAUDE.md to AGENTS.md, is read once.
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
    # Of the open file, not by its name, which may lead to another file by now.
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or (info.st_dev, info.st_ino) in seen:
        return ""
    seen.add((info.st_dev, info.st_ino))
    if info.st_size > MAX_FILE_BYTES:
        return texts.FILE_TOO_LARGE.format(size=info.st_size)
    with open(descriptor, "rb", closefd=False) as file:
        # Editors on Windows begin files with a byte order mark.
        return file.read(MAX_FILE_BYTES).decode("utf-8-sig", errors="replace").strip()


def _cut(name: str, text: str, most: int) -> str:
    """Keep seventy percent of the limit from the start and twenty from the end, with a note in between."""
    if len(text) <= most:
        return text
    note = texts.FILE_CUT.format(name=name, chars=len(text))
    room = max(0, most - len(note))
    head, tail = min(most * 7 // 10, room * 7 // 9), min(most * 2 // 10, room * 2 // 9)
    return f"{text[:head]}{note}{text[len(text) - tail :]}"
