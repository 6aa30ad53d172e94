"""Constructors show the object graph: nothing sets an attribute of another object afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import openclaw_workers

PACKAGE = Path(openclaw_workers.__file__).parent
MODULES = sorted(path for room in ("engine", "tasks", "agent") for path in (PACKAGE / room).rglob("*.py"))
COMPOSITION_ROOTS = {"engine/worker_graph.py", "tasks/worker.py", "engine/stores.py"}
MOST_IMPORTS = 25

ALLOWED = {
    # Celery's and kombu's own classes have no constructor of ours to pass these to.
    "tasks/kombu/batch_fetch.py": {"Transport.Channel"},
    # Celery calls plain functions; what the process holds is kept in a class of that module.
    "tasks/signals.py": {
        "instance.prepare_args",
        *(f"_Current.{name}" for name in ("facts", "nodename", "worker", "leaving", "drained", "places")),
    },
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def assigned_outside(tree: ast.AST) -> Iterator[str]:
    """Attributes that are set on anything but self or cls."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
            continue
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
            yield ast.unparse(node)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_attribute_is_assigned_from_outside(path: Path) -> None:
    found = set(assigned_outside(ast.parse(path.read_text(encoding="utf-8"))))
    assert found == ALLOWED.get(name_of(path), set())


def our_imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openclaw_workers"):
            for alias in node.names:
                inside = PACKAGE.parent / f"{node.module}.{alias.name}".replace(".", "/")
                is_module = inside.with_suffix(".py").exists()
                found.add(f"{node.module}.{alias.name}" if is_module else str(node.module))
    return found - {"openclaw_workers.metrics"}  # counting is like logging


def test_no_module_but_the_composition_roots_knows_many_others() -> None:
    counts = {name_of(path): len(our_imports(path)) for path in PACKAGE.rglob("*.py")}
    assert {name for name, count in counts.items() if count > MOST_IMPORTS} <= COMPOSITION_ROOTS
