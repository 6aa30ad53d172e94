"""The house rules of the scripts: a header that tells the truth, and no key spelled outside `keys.py`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import openclaw_workers
import openclaw_workers.store.keys as keys_module
from openclaw_workers.store.keys import Keys

PACKAGE = Path(openclaw_workers.__file__).parent
FOLDER = PACKAGE / "store" / "lua"
SHARED = {path.name: path.read_text() for path in sorted((FOLDER / "_lib").glob("*.lua"))}
LUA = {path.name: path.read_text() for path in FOLDER.glob("*.lua")}
SCRIPTS = sorted(LUA)


def parts(name: str) -> tuple[str, str]:
    """The header comment and the code below it."""
    found = re.fullmatch(r"--\[\[\n(.*?)\n\]\]\n(.*)", LUA[name], re.DOTALL)
    assert found, f"{name} has no header"
    return found[1], found[2]


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("table", ["KEYS", "ARGV"])
def test_the_header_names_exactly_what_the_body_uses(name: str, table: str) -> None:
    header, body = parts(name)
    named = [int(number) for number in re.findall(rf"^  {table}\[(\d+)\]", header, re.MULTILINE)]
    tail = re.search(rf"from {table}\[(\d+)\] on", header)
    used = {int(number) for number in re.findall(rf"{table}\[(\d+)\]", body)}

    assert named == list(range(1, len(named) + 1)), "numbered from one, in order, none left out"
    if tail is None:
        assert used == set(named)
        assert not re.search(rf"{table}\[[^\d\]]", body), "an index is computed, but the header names no tail"
        return
    first = int(tail[1])
    assert used | {first} == set(named) | {first}
    starts = re.findall(r"local [^\n]*first_\w+[^\n]* = ([\d, ]+)\n", body)
    assert str(first) in ", ".join(starts).split(", "), "the body begins its tail where the header says"
    assert re.search(rf"{table}(?:\[(?:i|first_)|, first_)", body), "the tail is read"


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_given_a_name_is_used(name: str) -> None:
    code = re.sub(r"--[^\n]*", "", parts(name)[1])
    bound = [word for names in re.findall(r"\blocal ([\w, ]+?) *=", code) for word in names.split(", ")]
    assert [word for word in bound if len(re.findall(rf"\b{word}\b", code)) < 2] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_header_says_purpose_returns_and_invariant(name: str) -> None:
    header, body = parts(name)
    assert re.match(r"  [A-Z].*\.$", header.split("\n\n")[0].replace("\n", " "))
    assert "\n  Returns  {" in header
    assert "\n  Invariant\n" in header
    told = set(re.findall(r'\{"([a-z]+)"', header))
    returned = set(re.findall(r'return \{ "([a-z]+)"', body))
    assert returned <= told, "every answer is in the header"


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_has_its_own_version_of_what_all_share(name: str) -> None:
    defined = r"^local function (\w+)"
    shared = set(re.findall(defined, "".join(SHARED.values()), re.MULTILINE))

    assert shared & set(re.findall(defined, LUA[name], re.MULTILINE)) == set()


@pytest.mark.parametrize("name", [*SCRIPTS, *SHARED])
def test_no_script_builds_a_key(name: str) -> None:
    code = re.sub(r"--\[\[.*?\]\]|--[^\n]*", "", {**LUA, **SHARED}[name], flags=re.DOTALL)
    spelled = [literal for literal in re.findall(r'"([^"]*)"', code) if ":" in literal]

    # A lease is `fence:nonce`; that colon and those inside JSON are no keys.
    assert [literal for literal in spelled if literal != ":" and not literal.startswith((",", "{"))] == []
    for command in re.findall(r"redis\.call\(\s*([^)]*)\)", code):
        words = command.split(",")
        assert len(words) < 2 or ".." not in words[1], f"the key of {command} is built"


def test_only_keys_py_spells_a_key() -> None:
    built = Keys("NS")
    names = [getattr(built, name) for name in dir(Keys) if isinstance(getattr(Keys, name), property)]
    fragments = {name.removeprefix("NS") for name in names}
    fragments |= {":s:", ":lane:", ":run:", ":worker:", ":archive:", ":celery:", ":slots", ":line", ":ticket"}
    fragments |= {
        ":row",
        ":ctl",
        ":inbox",
        ":bound",
        ":receipts",
        ":ages",
        ":log",
        ":events",
        ":batch:",
        ":open",
        ":tree:",
    }
    fragments |= {":batch:", ":open", ":tree:", ":batches", ":children", ":live", ":waiters", ":files"}

    found = [
        f"{path.relative_to(PACKAGE)}: {literal}"
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "store" / "keys.py"
        for literal in re.findall(r"f?\"[^\"\n]*\"", path.read_text())
        for fragment in fragments
        if re.search(rf"\}}{re.escape(fragment)}(?![\w])", literal)
    ]
    assert found == []


def test_the_table_of_keys_lists_every_key_there_is() -> None:
    told = set(re.findall(r"^    \{ns\}:(\S+)", keys_module.__doc__ or "", re.MULTILINE))
    placeholders = {"session": "{key}", "lane": "{lane}"}
    built, there = Keys("NS"), set()
    for name in dir(Keys):
        value = getattr(built, name)
        if callable(value) and not name.startswith("_"):
            (parameter,) = inspect.signature(value).parameters
            value = value(placeholders.get(parameter, "{id}"))
        if isinstance(value, str) and value.startswith("NS:"):
            there.add(value.removeprefix("NS:"))

    assert told == there
