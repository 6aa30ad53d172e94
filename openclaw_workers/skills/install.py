"""Bring a skill from a folder or a zip file into a skills directory, and begin a new one."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.skills.frontmatter import BadFrontmatter
from openclaw_workers.skills.skill import FILE_NAME, Skill, Source, parse_skill

MAX_FILES = 1000
MAX_TOTAL_BYTES = 50_000_000
_LEFT_OUT = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", "__MACOSX", ".DS_Store"})


@dataclass(frozen=True, slots=True)
class SkillFile:
    path: str
    """Relative to the skill's folder."""
    size_bytes: int
    is_program: bool
    """It is marked as executable or begins with #!."""


@dataclass(frozen=True, slots=True)
class Package:
    """A skill that is to be added, unpacked into a folder of its own."""

    skill: Skill
    folder: Path
    files: tuple[SkillFile, ...]


def open_package(source: Path, scratch: Path) -> list[Package]:
    """The skills in a folder or zip file, copied to `scratch`. Nothing of them is run.

    Raises:
        BadInput: it cannot be read, holds no skill, is too large, or has names or links that lead out of it.
    """
    if not source.exists():
        raise BadInput(f"there is no {source}", hint="name a folder with a SKILL.md, or a zip file of one")
    unpacked = scratch / "unpacked"
    unpacked.mkdir()
    if source.is_dir():
        _copy_folder(source, unpacked)
    else:
        _unpack(source, unpacked)
    found = sorted(path.parent for path in unpacked.rglob(FILE_NAME))
    # A SKILL.md inside a skill, such as an example, belongs to that skill.
    tops = [folder for folder in found if not any(other in folder.parents for other in found)]
    if not tops:
        raise BadInput(f"{source} holds no {FILE_NAME}", hint="a skill is a folder with that file in it")
    return [_package(folder, source) for folder in tops]


def _package(folder: Path, source: Path) -> Package:
    path = folder / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        skill = parse_skill(text, str(path), Source.STATE)
    except BadFrontmatter as error:
        raise BadInput(f"{source} is not a usable skill: {error}") from error
    files = [
        SkillFile(str(each.relative_to(folder)), each.stat().st_size, _is_program(each))
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    ]
    return Package(skill, folder, tuple(files))


def install(package: Package, root: Path, *, replace: bool = False) -> Path:
    """Put an unpacked skill into a skills directory, as a folder of its name.

    Raises:
        BadInput: its name is no name for a folder.
        ConflictError: there is one already, and it is not to be replaced.
    """
    target = root / check_name(package.skill.name)
    if target.exists() and not replace:
        raise ConflictError(f"{target} exists", hint="--replace puts the new one in its place")
    root.mkdir(parents=True, exist_ok=True)
    # In the same directory: a rename works only within one file system. Scans skip names that begin with a dot.
    with tempfile.TemporaryDirectory(dir=root, prefix=".adding-") as beside:
        ready, old = Path(beside) / "new", Path(beside) / "old"
        shutil.copytree(package.folder, ready)
        if target.exists():
            # Two renames, so that a scan sees the old skill, none, or the new one, but never a mixture.
            target.rename(old)
        ready.rename(target)
    return target


def zipped(packages: Sequence[Package]) -> bytes:
    """Unpacked skills as one zip file, for another machine."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, package in enumerate(packages):
            for file in package.files:
                archive.write(package.folder / file.path, f"{number}/{package.folder.name}/{file.path}")
    return packed.getvalue()


def create(name: str, description: str, root: Path) -> Path:
    """Begin a skill with a file to fill in; returns its path.

    Raises:
        BadInput: the name is no name for a folder.
        ConflictError: there is one already.
    """
    path = root / check_name(name) / FILE_NAME
    if path.exists():
        raise ConflictError(f"{path} exists", hint="choose another name, or edit that file")
    path.parent.mkdir(parents=True, exist_ok=True)
    described = json.dumps(description, ensure_ascii=False)  # so that a colon in it stays YAML
    text = _TEMPLATE.format(name=name, title=name.replace("-", " ").capitalize(), description=described)
    path.write_text(text, encoding="utf-8")
    return path


def check_name(name: str) -> str:
    is_plain = name not in (".", "..") and name == name.strip() and not name.startswith(".")
    if not is_plain or not all(letter.isalnum() or letter in "-_. " for letter in name):
        raise BadInput(
            f"{name!r} is not a name for a skill", hint="use letters, digits and hyphens, such as invoice-check"
        )
    return name


_TEMPLATE = """---
name: {name}
description: {description}
metadata: {{"openclaw": {{"requires": {{"bins": []}}}}}}
---

# {title}

1. The first step, with the exact command or tool.
2. What to check.
3. What to answer, and when to ask the user.
"""


def _copy_folder(source: Path, target: Path) -> None:
    room = _Room(str(source))
    for path in _walk(source):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) or not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{path} is a link or no regular file", hint="copy what it leads to into the skill's folder")
        room.take(status.st_size)
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy, follow_symlinks=False)
        copy.chmod(0o755 if status.st_mode & 0o111 else 0o644)


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry)
        else:
            yield entry


def _unpack(source: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(source) as archive:
            room = _Room(str(source))
            for item in archive.infolist():
                _unpack_one(archive, item, target, room)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadInput(f"{source} is not a zip file that can be read: {error}") from error


def _unpack_one(archive: zipfile.ZipFile, item: zipfile.ZipInfo, target: Path, room: _Room) -> None:
    parts = item.filename.replace("\\", "/").split("/")
    if item.is_dir() or _LEFT_OUT & set(parts):
        return
    is_absolute = item.filename.startswith(("/", "\\")) or ":" in parts[0]
    if is_absolute or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise BadInput(f"the zip file holds {item.filename!r}, which leads out of its folder", hint="do not use it")
    mode = item.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise BadInput(f"the zip file holds {item.filename!r}, which is a link or no regular file")
    path = target.joinpath(*parts)
    if path.exists():
        raise BadInput(f"the zip file holds {item.filename!r} twice")
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(item) as packed, path.open("xb") as file:
        room.take(0)
        while chunk := packed.read(65_536):  # by what is unpacked: the size that the file names may be wrong
            room.grow(len(chunk))
            file.write(chunk)
    path.chmod(0o755 if mode & 0o111 else 0o644)


class _Room:
    """Counts files and bytes against the limits."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._files = 0
        self._bytes = 0

    def take(self, size_bytes: int) -> None:
        self._files += 1
        if self._files > MAX_FILES:
            raise BadInput(f"{self._source} holds more than {MAX_FILES:,} files; that is too much for a skill")
        self.grow(size_bytes)

    def grow(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if self._bytes > MAX_TOTAL_BYTES:
            raise BadInput(f"{self._source} holds more than {MAX_TOTAL_BYTES:,} bytes; that is too much for a skill")


def _is_program(path: Path) -> bool:
    if os.access(path, os.X_OK):
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"
