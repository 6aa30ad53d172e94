"""Lua scripts. A header names a script's keys and arguments; the loader binds these names in front of its body.

--[[
  What the script does.

  includes  clock, events            files of lib/ whose functions the body calls

  keys
    row       hash    session row    name, type, meaning
    budgets…  hashes  …              the rest of the keys, as a table
  args
    cap       number  …              text, number, flag or json
    entries…  text    …              the rest of the arguments, as a table
…
]]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib import resources
from typing import Any

FOLDER = resources.files("openclaw_workers.store") / "lua"

REFUSED_WHEN_FULL = frozenset(
    {"accept", "begin_session", "channel_receive", "create_temporary", "spawn", "store_chunk"}
)
"""Scripts that bring new work. All others continue, end or clean up existing work, and must run in a full Redis too."""

WRITE_ALTHOUGH_FULL = 'redis.call("DEL", KEYS[1] .. " nothing")'
"""A full Redis refuses a script at its first write if that needs memory. After a first write that needs none it allows
all others. The key is named after one of ours, because our user may touch no other."""

TAIL = "…"

_DEFINITION = re.compile(r"^local .*(?:\n(?!local ).*)*", re.MULTILINE)
"""A definition of a library file, up to the next one; the comment before a definition ends the one before it."""
_NAME = re.compile(r"\w+")

_FORMS = {
    "text": "ARGV[{}]",
    "number": "tonumber(ARGV[{}])",
    "flag": 'ARGV[{}] == "1"',
    "json": "cjson.decode(ARGV[{}])",
}


@dataclass(frozen=True, slots=True)
class Header:
    """The names that a script declares."""

    includes: tuple[str, ...]
    keys: tuple[str, ...]
    args: Mapping[str, str]
    """Name -> form."""
    more_keys: str = ""
    """Name of the table with the rest of the keys; empty if there is none."""
    more_args: tuple[str, str] = ("", "")
    """Name and form of the rest of the arguments."""

    def bindings(self) -> str:
        """Lua that gives KEYS and ARGV their names."""
        lines = [f"local {name} = KEYS[{index}]" for index, name in enumerate(self.keys, 1)]
        for index, (name, form) in enumerate(self.args.items(), 1):
            lines.append(f"local {name} = {_FORMS[form].format(index)}")
        if self.more_keys:
            lines.append(_table(self.more_keys, "KEYS", len(self.keys), "KEYS[{}]"))
        name, form = self.more_args
        if name:
            lines.append(_table(name, "ARGV", len(self.args), _FORMS[form]))
        return "\n".join(lines)


@cache
def script_source(name: str) -> tuple[str, str]:
    """A script with what it includes and its bindings in front of it, and its SHA."""
    header, text = _read(f"{name}.lua")
    parts = _used_of([_read(f"lib/{each}.lua")[1] for each in _with_their_own(header.includes)], text)
    # After the library, which writes nothing, and before the body, whose first write may need memory.
    if name not in REFUSED_WHEN_FULL:
        parts.append(WRITE_ALTHOUGH_FULL)
    source = "\n".join([*parts, header.bindings(), text])
    return source, sha1(source.encode(), usedforsecurity=False).hexdigest()


@cache
def script_header(name: str) -> Header:
    return _read(f"{name}.lua")[0]


def in_order(
    script: str,
    keys: Mapping[str, str],
    args: Mapping[str, Any],
    more_keys: Sequence[str],
    more_args: Sequence[Any],
) -> tuple[list[str], list[Any]]:
    """KEYS and ARGV as the script expects them.

    Raises:
        TypeError: a name is missing, or the script declares no such name.
    """
    header = script_header(script)
    # Lua would ignore what a script has no name for.
    if (more_keys and not header.more_keys) or (more_args and not header.more_args[0]):
        raise TypeError(f"script {script} takes a fixed number of keys and arguments")
    return (
        [*_pick(f"{script}: key", keys, header.keys), *more_keys],
        [*_pick(f"{script}: argument", args, header.args), *more_args],
    )


def _pick(what: str, given: Mapping[str, Any], names: Sequence[str] | Mapping[str, str]) -> list[Any]:
    try:
        found = [given[name] for name in names]
    except KeyError as error:
        raise TypeError(f"script {what} {error} is missing") from None
    if len(found) != len(given):
        raise TypeError(f"script {what} {', '.join(sorted(set(given) - set(names)))} is not declared")
    return found


def _with_their_own(includes: Sequence[str]) -> list[str]:
    """Library files with those that they include themselves, each once and after what it needs."""
    found: dict[str, None] = {}
    for each in includes:
        found.update(dict.fromkeys(_with_their_own(_read(f"lib/{each}.lua")[0].includes)))
        found[each] = None
    return list(found)


def _used_of(libraries: Sequence[str], body: str) -> list[str]:
    """The definitions that a script uses, directly or not. Lua allows a script 200 names at most."""
    definitions = [found for text in libraries for found in _DEFINITION.findall(text.partition("\n]]\n")[2])]
    used = set(_NAME.findall(body))
    kept: list[str] = []
    for definition in reversed(definitions):  # each uses only what stands before it
        head = definition.partition("=")[0].partition("(")[0]
        if used & set(_NAME.findall(head.removeprefix("local function").removeprefix("local"))):
            used.update(_NAME.findall(definition))
            kept.append(definition)
    return kept[::-1]


@cache
def _read(path: str) -> tuple[Header, str]:
    text = FOLDER.joinpath(path).read_text()
    return parse_header(path, text), text


def parse_header(path: str, text: str) -> Header:
    """The names that a header declares.

    Raises:
        ValueError: it is not in the form above.
    """
    found = re.match(r"--\[\[\n(.*?)\n\]\]\n", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{path} has no header")
    includes = re.search(r"^  includes  (.*(?:\n {12}.*)*)", found[1], re.MULTILINE)
    keys = _section(found[1], "keys")
    args = _section(found[1], "args")
    if any(form not in _FORMS for form in args.values()):
        raise ValueError(f"{path}: an argument is text, number, flag or json")
    more_keys = [name for name in keys if name.endswith(TAIL)]
    more_args = [name for name in args if name.endswith(TAIL)]
    return Header(
        includes=tuple(re.findall(r"\w+", includes[1])) if includes else (),
        keys=tuple(name for name in keys if name not in more_keys),
        args={name: form for name, form in args.items() if name not in more_args},
        more_keys=more_keys[0].removesuffix(TAIL) if more_keys else "",
        more_args=(more_args[0].removesuffix(TAIL), args[more_args[0]]) if more_args else ("", ""),
    )


def _section(header: str, title: str) -> dict[str, str]:
    """Name -> type of the lines under a title; a line that continues another is indented further."""
    found = re.search(rf"^  {title}\n((?: {{4}}.*\n)+)", header, re.MULTILINE)
    return dict(re.findall(rf"^ {{4}}(\w+{TAIL}?) +(\w+)", found[1], re.MULTILINE)) if found else {}


def _table(name: str, source: str, skipped: int, form: str) -> str:
    value = form.format(f"i + {skipped}")
    return f"local {name} = {{}}\nfor i = 1, #{source} - {skipped} do\n  {name}[i] = {value}\nend"
