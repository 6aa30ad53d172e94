"""Scripts: a header that tells the truth, callers that keep to it, and no key spelled outside `keys.py`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import openclaw_workers
import openclaw_workers.store.keys as keys_module
from openclaw_workers.store.client import Client, run_script
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.scripts import Header, parse_header

PACKAGE = Path(openclaw_workers.__file__).parent
FOLDER = PACKAGE / "store" / "lua"
SCRIPTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.lua"))}
LIBRARY = {f"lib/{path.stem}": path.read_text() for path in sorted((FOLDER / "lib").glob("*.lua"))}
LUA = set(
    re.findall(
        r"\w+",
        """
        and break do else elseif end false for function if in local nil not or repeat return then true until while
        cjson error ipairs math next pairs pcall redis string table tonumber tostring type unpack
        """,
    )
)
BY_NAME = ("for_session", "for_lane", "shared")
"""Methods of `Keys` that give several keys by their names."""
each_file = pytest.mark.parametrize("name", [*SCRIPTS, *LIBRARY])
each_script = pytest.mark.parametrize("name", SCRIPTS)


def without_comments(text: str) -> str:
    return re.sub(r"--\[\[.*?\]\]|--[^\n]*", "", text, flags=re.DOTALL)


def header_of(name: str) -> Header:
    return parse_header(name, {**SCRIPTS, **LIBRARY}[name])


def declared(header: Header) -> set[str]:
    return {*header.keys, *header.args, header.more_keys, header.more_args[0]} - {""}


def defined(text: str) -> set[str]:
    """What a library file offers."""
    found = re.findall(r"^local (?:function (\w+)|([\w, ]+) =)", without_comments(text), re.MULTILINE)
    return {name.strip() for function, names in found for name in (function or names).split(",")}


def code_of(text: str) -> str:
    return re.sub(r'"[^"\n]*"|\'[^\'\n]*\'', '""', without_comments(text))


def used(text: str) -> set[str]:
    """Names that the code reads or calls; not fields of tables."""
    names, depth = set(), 0
    for found in re.finditer(r"[{}]|(?<![\w.])([A-Za-z_]\w*)(\s*=(?!=))?", code_of(text)):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[1] and not (found[2] and depth):
            names.add(found[1])
    return names - LUA


def bound(text: str) -> set[str]:
    """Names that the code makes itself."""
    code = code_of(text)
    lists = re.findall(r"\blocal ([\w, ]+?)(?: =|\n)", code)
    lists += re.findall(r"\bfunction(?: \w+)?\(([\w, ]*)", code) + re.findall(r"\bfor ([\w, ]+?) (?:in|=)", code)
    lists += re.findall(r"\blocal function (\w+)", code)
    return {name.strip() for names in lists for name in names.split(",")}


@each_script
def test_the_body_uses_every_declared_name_and_no_index(name: str) -> None:
    header, code = header_of(name), code_of(SCRIPTS[name])

    assert declared(header) - used(SCRIPTS[name]) == set()
    assert not re.search(r"\b(?:KEYS|ARGV)\b", code)
    assert declared(header) & bound(SCRIPTS[name]) == set(), "a declared name means one thing"


@each_file
def test_the_header_includes_exactly_what_the_body_calls(name: str) -> None:
    text = {**SCRIPTS, **LIBRARY}[name]
    header, names = header_of(name), used(text)
    offered = {each: defined(LIBRARY[f"lib/{each}"]) for each in header.includes}
    known = set[str]().union(*offered.values())

    assert [each for each, names_of in offered.items() if not names_of & names] == [], "included in vain"
    assert names - known - declared(header) - bound(text) == set(), "defined nowhere"
    assert known & bound(text) == set(), "a name of the library means one thing"


def test_no_two_library_files_define_the_same_name() -> None:
    names = [name for text in LIBRARY.values() for name in defined(text)]
    assert len(names) == len(set(names))


@each_script
def test_what_is_given_a_name_is_used(name: str) -> None:
    code = code_of(SCRIPTS[name])
    names = [word for names in re.findall(r"\blocal ([\w, ]+?) *=", code) for word in names.split(", ")]
    assert [word for word in names if len(re.findall(rf"\b{word}\b", code)) < 2] == []


@each_script
def test_the_header_says_purpose_returns_and_invariant(name: str) -> None:
    header, body = re.findall(r"--\[\[\n(.*?)\n\]\]\n(.*)", SCRIPTS[name], re.DOTALL)[0]
    assert re.match(r"  [A-Z].*\.$", header.split("\n\n")[0].replace("\n", " "))
    assert "\n  Returns  {" in header
    assert "\n  Invariant\n" in header
    reported = set(re.findall(r'\{"([a-z]+)"', header))
    returned = set(re.findall(r'return \{ "([a-z]+)"', body))
    assert returned <= reported, "every answer is in the header"


@cache
def modules() -> list[ast.Module]:
    return [ast.parse(path.read_text()) for path in (PACKAGE / "store").rglob("*.py")]


def calls() -> Iterator[tuple[str, dict[str, ast.expr]]]:
    """Each script that Python calls, with the arguments of the call."""
    for module in modules():
        for node in ast.walk(module):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            names = [each for each in node.args if isinstance(each, ast.Constant)]
            if node.func.id in ("run_script", "script_call") and names:
                (script,) = names
                yield str(script.value), {str(each.arg): each.value for each in node.keywords}


def names_in(mapping: ast.expr | None) -> list[str]:
    """The names that a call passes; a `**` is a method of `Keys`, or a function that returns a dict."""
    if mapping is None:
        return []
    assert isinstance(mapping, ast.Dict), ast.unparse(mapping)
    names = []
    for key, value in zip(mapping.keys, mapping.values, strict=True):
        if isinstance(key, ast.Constant):
            names.append(str(key.value))
        else:
            names += names_from(value)
    return names


def names_from(call: ast.expr) -> list[str]:
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr in BY_NAME:
        return [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    (function,) = [
        node
        for module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.name == call.func.attr
    ]
    last = function.body[-1]
    assert isinstance(last, ast.Return)
    return names_in(last.value)


ROW = {"row": "r", "dedupe": "d", "label_prefix": "l"}
PATCH = {"session": "s", "changes": "{}", "keep_s": 0}


def test_every_caller_passes_what_the_header_declares() -> None:
    called = list(calls())
    for script, given in called:
        header = header_of(script)
        assert sorted(names_in(given.get("keys"))) == sorted(header.keys), script
        assert sorted(names_in(given.get("args"))) == sorted(header.args), script
        assert ("more_keys" in given) == bool(header.more_keys), script
        assert ("more_args" in given) == bool(header.more_args[0]), script
    assert {script for script, _ in called} == set(SCRIPTS), "every script has a caller"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keys": {"row": "r"}, "args": PATCH}, "key 'dedupe' is missing"),
        ({"keys": ROW, "args": {"changes": "{}", "session": "s"}}, "argument 'keep_s' is missing"),
        ({"keys": {**ROW, "ctl": "c"}, "args": PATCH}, "key ctl is not"),
        ({"keys": ROW, "args": PATCH, "more_args": [1]}, "fixed"),
    ],
)
def test_a_call_with_other_names_is_refused(redis: Client, given: dict[str, dict[str, str]], said: str) -> None:
    with pytest.raises(TypeError, match=f"patch_row.*{said}"):
        run_script(redis, "patch_row", **given)  # type: ignore[arg-type]


DERIVED = {":", keys_module.TEXTS, keys_module.SETTLED}
"""Endings by which a script gets one key from another that it was given."""


@pytest.mark.parametrize("name", [*SCRIPTS, *LIBRARY])
def test_no_script_builds_a_key(name: str) -> None:
    code = without_comments({**SCRIPTS, **LIBRARY}[name])
    spelled = [literal for literal in re.findall(r'"([^"]*)"', code) if ":" in literal]

    # A lease is `fence:nonce`; that colon and those inside JSON are no keys.
    assert [literal for literal in spelled if literal not in DERIVED and not literal.startswith((",", "{"))] == []
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
        ":settled",
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
    reported = set(re.findall(r"^    \{ns\}:(\S+)", keys_module.__doc__ or "", re.MULTILINE))
    placeholders = {"session": "{key}", "lane": "{lane}"}
    built, there = Keys("NS"), set()
    for name in dir(Keys):
        value = getattr(built, name)
        if name in BY_NAME:
            continue
        if callable(value) and not name.startswith("_"):
            (parameter,) = inspect.signature(value).parameters
            value = value(placeholders.get(parameter, "{id}"))
        if isinstance(value, str) and value.startswith("NS:"):
            there.add(value.removeprefix("NS:"))

    assert reported == there
