"""A thread of ours must not use a name that Python's Thread uses for itself, in any version that we support."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LATER = {"_after_fork", "_handle", "_context", "_set_os_name", "_os_thread_handle"}
"""Names that came with Python 3.13 and 3.14. Their values replace ours in silence: a method becomes an object."""
MEANT = {"run", "start", "join", "name", "daemon"}
"""Names that a thread of ours may set or replace on purpose."""


def names_of_a_thread() -> set[str]:
    thread = threading.Thread(target=print)
    return {name for name in dir(thread) if not name.startswith("__")} | LATER


def threads_of_ours() -> Iterator[tuple[str, ast.ClassDef]]:
    for package in ("openclaw_workers", "ingress", "tests/support"):
        for path in (ROOT / package).rglob("*.py"):
            source = path.read_text()
            for node in ast.walk(ast.parse(source)) if "Thread)" in source else ():
                if isinstance(node, ast.ClassDef) and any("Thread" in ast.unparse(base) for base in node.bases):
                    yield f"{path.relative_to(ROOT)}:{node.name}", node


def names_in(thread: ast.ClassDef) -> set[str]:
    """What it defines, and what it sets on itself."""
    defined = {node.name for node in thread.body if isinstance(node, ast.FunctionDef)}
    stored = {
        node.attr
        for node in ast.walk(thread)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    return defined | stored


def test_no_thread_uses_a_name_of_pythons_own_threads() -> None:
    threads = list(threads_of_ours())
    taken = names_of_a_thread() - MEANT

    assert len(threads) > 5
    assert {name: names_in(thread) & taken for name, thread in threads if names_in(thread) & taken} == {}
