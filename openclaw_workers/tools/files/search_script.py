"""Search the files or the file names below a directory. `grep` and `find` run this file isolated.

A pattern from a model may take for ever, so it never runs inside a worker. The directory is walked by descriptors and
links are not followed, so that nothing outside is read. It imports only a little of the standard library.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any

SKIPPED = (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache")
"""Directories that are left out, unless the search begins in one."""
MAX_FILE_BYTES = 10 * 1024 * 1024
MEMORY_BYTES = 512 * 1024 * 1024
TOO_MUCH_MEMORY = "the search needs too much memory; use a simpler pattern or a narrower path"
# Each level holds one open descriptor and one frame of the recursion.
_MAX_DEPTH = 100
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Entry:
    """A file or directory that was found; `parent` is open only until the next one is asked for."""

    def __init__(self, path: str, name: str, parent: int, *, is_directory: bool) -> None:
        self.path = path
        self.name = name
        self.parent = parent
        self.is_directory = is_directory


def walk(directory: int, prefix: str = "", depth: int = 0) -> Iterator[Entry]:
    """All entries below an open directory, in the order of their names."""
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_directory = entry.is_dir(follow_symlinks=False)
        yield Entry(prefix + entry.name, entry.name, directory, is_directory=is_directory)
        if not is_directory or entry.name in SKIPPED or depth >= _MAX_DEPTH:
            continue
        try:
            inner = os.open(entry.name, _DIRECTORY, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from walk(inner, f"{prefix}{entry.name}/", depth + 1)
        finally:
            os.close(inner)


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression for paths: `*.py` anywhere, `src/*.py` from the directory of the search on.

    Raises:
        ValueError: the glob is not complete.
    """
    anywhere = "" if "/" in glob.rstrip("/") else "(?:.*/)?"
    rest = glob.removeprefix("./").removeprefix("/").rstrip("/")
    return re.compile(anywhere + _translate(rest) + r"\Z", re.DOTALL)


def _translate(glob: str) -> str:
    out: list[str] = []
    index = depth = 0
    while index < len(glob):
        char = glob[index]
        if glob.startswith("**/", index):
            out.append("(?:.*/)?")
            index += 3
            continue
        if glob.startswith("**", index):
            out.append(".*")
            index += 2
            continue
        if char == "[":
            text, index = _character_class(glob, index)
            out.append(text)
            continue
        if char == "\\" and index + 1 < len(glob):
            index += 1
            out.append(re.escape(glob[index]))
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        else:
            out.append({"*": "[^/]*", "?": "[^/]", ",": "|" if depth else ","}.get(char, re.escape(char)))
        index += 1
    if depth:
        raise ValueError("{ without }")
    return "".join(out)


def _character_class(glob: str, start: int) -> tuple[str, int]:
    # A bracket right after the opening one is a character of the class.
    end = glob.find("]", start + 2)
    if end < 0:
        raise ValueError("[ without ]")
    inner = glob[start + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
    inner = f"^{inner[1:]}" if inner[:1] in "!^" else inner
    return f"[{inner}]", end + 1


def _read(entry: Entry) -> str | None:
    """The text of a file; None if it is not a plain text file."""
    try:
        fd = os.open(entry.name, _FILE, dir_fd=entry.parent)
    except OSError:
        return None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        # A file with a second name may be a file from outside.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_size > MAX_FILE_BYTES:
            return None
        data = file.read()
    encoding = _UTF16.get(data[:2])
    if encoding is not None:
        return data[2:].decode(encoding, "replace")
    return None if b"\0" in data else data.decode("utf-8", "replace")


def _grep(request: dict[str, Any], entries: Iterator[Entry]) -> dict[str, Any]:
    source = re.escape(request["pattern"]) if request["literal"] else request["pattern"]
    try:
        search = re.compile(source, re.IGNORECASE if request["ignore_case"] else 0).search
    except (re.error, RecursionError, OverflowError) as error:
        return {"error": f"the pattern is not a regular expression: {error}"}
    chosen = _chooser(request["glob"])
    matches: list[tuple[str, int]] = []
    for entry in entries:
        if entry.is_directory or not chosen(entry.path):
            continue
        text = _read(entry)
        for number, line in enumerate((text or "").split("\n"), start=1):
            if search(line.removesuffix("\r")):
                matches.append((entry.path, number))
            if len(matches) > request["limit"]:
                return {"matches": matches}
    return {"matches": matches}


def _find(request: dict[str, Any], entries: Iterator[Entry]) -> dict[str, Any]:
    chosen = _chooser(request["glob"])
    found: list[str] = []
    for entry in entries:
        if chosen(entry.path):
            found.append(f"{entry.path}/" if entry.is_directory else entry.path)
        if len(found) > request["limit"]:
            break
    return {"found": found}


def _chooser(glob: str | None) -> Callable[[str], object]:
    return glob_pattern(glob).match if glob else lambda _: True


def _entries(request: dict[str, Any]) -> Iterator[Entry]:
    if request["name"]:
        return iter([Entry(request["name"], request["name"], request["fd"], is_directory=False)])
    return walk(request["fd"])


def answer(request: dict[str, Any]) -> dict[str, Any]:
    run = {"grep": _grep, "find": _find}[request["kind"]]
    try:
        return run(request, _entries(request))
    except (ValueError, re.error) as error:
        return {"error": f"the glob {request['glob']!r} is not complete: {error}"}
