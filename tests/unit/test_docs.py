"""Links, anchors, file names, function names and commands in the documentation exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from openclaw_workers.cli.main import cli

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "openclaw_workers"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])
NAMED_FROM = (ROOT, PACKAGE, PACKAGE / "store", PACKAGE / "store" / "lua")
"""Where the docs leave out the beginning of a path."""
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SOURCE_FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|lua)|[\w-]+\.lua)`")
STEP = re.compile(r"`([\w/]+\.py): ([\w.]+)`")
COMMAND = re.compile(r"\bocw ([a-z]+(?: [a-z]+)*)")


def pages(text_of: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Each match in each page, with the name of the page."""
    for page in PAGES:
        for found in text_of.findall(page.read_text()):
            yield page.relative_to(ROOT).as_posix(), found


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    bare = FENCED.sub("", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(bare)}


def names_in(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Functions and classes of a module, methods as `Class.method`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_in(node.body, f"{node.name}.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    dead = []
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text())):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(f"{path}#{anchor}")

    assert dead == []


def test_source_files_that_the_docs_name_exist() -> None:
    named = list(pages(SOURCE_FILE))
    missing = [(page, path) for page, path in named if not any((base / path).exists() for base in NAMED_FROM)]

    assert len(named) > 100
    assert missing == []


def test_functions_that_the_docs_name_are_defined_in_those_files() -> None:
    steps = [found for page in PAGES for found in STEP.findall(page.read_text())]
    missing = [
        (path, name) for path, name in steps if name not in set(names_in(ast.parse((PACKAGE / path).read_text()).body))
    ]

    assert len(steps) > 60
    assert missing == []


def test_commands_that_the_docs_name_exist() -> None:
    unknown = []
    for page, words in pages(COMMAND):
        command: click.Command = cli
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            found = command.get_command(click.Context(command), word)
            if found is None:
                unknown.append((page, words))
                break
            command = found

    assert unknown == []
