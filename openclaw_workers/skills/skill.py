"""A skill, as its file describes it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from openclaw_workers.domain.untrusted import safe_line
from openclaw_workers.skills.frontmatter import BadFrontmatter, metadata_block, read_frontmatter

FILE_NAME = "SKILL.md"
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


class Source(StrEnum):
    """Where a skill was found; of two with the same name, the one from the later place is used."""

    EXTRA = "extra"
    PLUGIN = "plugin"
    BUNDLED = "bundled"
    STATE = "state"
    PERSONAL = "personal"
    AGENT = "agent"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Requires:
    """What must be there for a skill to be of use."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    any_config: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    path: str
    """The file, without links."""
    source: Source
    is_flat: bool = False
    """A single file, not a folder of its own."""
    key: str = ""
    """Its name in `skills.entries`."""
    emoji: str = ""
    homepage: str = ""
    always: bool = False
    os: tuple[str, ...] = ()
    requires: Requires = Requires()
    primary_env: str = ""
    install: tuple[str, ...] = ()
    """How missing programs can be installed, one line each."""
    user_invocable: bool = True
    is_listed: bool = True
    """Whether the model learns of it; otherwise only people can ask for it."""
    command_tool: str = ""
    """The tool that its slash command calls without the model."""

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def readable(self) -> str:
        """What an agent that has this skill may read: its folder, or the one file that it is."""
        return self.path if self.is_flat else self.folder

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that it names."""
        return tuple(dict.fromkeys((*self.requires.env, *filter(None, [self.primary_env]))))


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that looks like a skill and is none."""

    path: str
    why: str


def parse_skill(text: str, path: str, source: Source, *, is_flat: bool = False) -> Skill:
    """The skill that a file describes.

    Raises:
        BadFrontmatter: it says what is missing or wrong.
    """
    fields = read_frontmatter(text)
    block = metadata_block(fields)
    fallback = os.path.basename(path).removesuffix(".md") if is_flat else os.path.basename(os.path.dirname(path))
    # One more than allowed, so that a name that is too long is refused and not shortened to another one.
    name = safe_line(_text(fields, "name"), MAX_NAME_CHARS + 1) or fallback
    if len(name) > MAX_NAME_CHARS:
        raise BadFrontmatter(f"its name has more than {MAX_NAME_CHARS} characters; shorten it")
    description = safe_line(_text(fields, "description"), MAX_DESCRIPTION_CHARS)
    if not description:
        raise BadFrontmatter("it has no description; add one line that says what it does and when to use it")
    tool = _text(fields, "command-tool") if _text(fields, "command-dispatch") == "tool" else ""
    return Skill(
        name=name,
        description=description,
        path=path,
        source=source,
        is_flat=is_flat,
        key=_text(block, "skillKey") or name,
        emoji=safe_line(_text(block, "emoji") or _text(fields, "emoji"), 16),
        homepage=safe_line(_text(block, "homepage") or _text(fields, "homepage")),
        always=_flag(block, "always", default=False),
        os=_names(block, "os"),
        requires=_requires(block),
        primary_env=_text(block, "primaryEnv"),
        install=_install_lines(block),
        user_invocable=_flag(fields, "user-invocable", default=True),
        is_listed=not _flag(fields, "disable-model-invocation", default=False),
        command_tool=tool,
    )


def _requires(block: dict[str, Any]) -> Requires:
    given = block.get("requires") or {}
    if not isinstance(given, dict):
        raise BadFrontmatter(
            "metadata.openclaw.requires is not a mapping; expected bins, anyBins, env, config or anyConfig"
        )
    return Requires(
        bins=_names(given, "bins"),
        any_bins=_names(given, "anyBins"),
        env=_names(given, "env"),
        config=_names(given, "config"),
        any_config=_names(given, "anyConfig"),
    )


def _names(mapping: dict[str, Any], key: str) -> tuple[str, ...]:
    given = mapping.get(key) or ()
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise BadFrontmatter(f"{key} in its metadata is not a list of names")
    return tuple(each.strip() for each in given if each.strip())


def _text(mapping: dict[str, Any], key: str) -> str:
    value = mapping.get(key)
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise BadFrontmatter(f"{key} is not text")


def _flag(mapping: dict[str, Any], key: str, *, default: bool) -> bool:
    value = _text(mapping, key).lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    if value:
        raise BadFrontmatter(f"{key} is {value!r}; expected true or false")
    return default


def _install_lines(block: dict[str, Any]) -> tuple[str, ...]:
    given = block.get("install")
    ways = given if isinstance(given, list) else []
    found = []
    for way in ways:
        if isinstance(way, dict):
            what = next((way[key] for key in ("label", "formula", "package", "module", "url") if way.get(key)), "")
            found.append(safe_line(" ".join(filter(None, (str(way.get("kind") or ""), str(what))))))
    return tuple(filter(None, found))
