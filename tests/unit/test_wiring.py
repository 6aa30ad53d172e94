"""Constructors show the object graph: nothing sets an attribute of another object afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ingress
import openclaw_workers

PACKAGES = [Path(str(package.__file__)).parent for package in (openclaw_workers, ingress)]
ROOT = PACKAGES[0].parent
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

COMPOSITION_ROOTS = {
    "openclaw_workers/engine/stores.py",
    "openclaw_workers/engine/tool_graph.py",
    "openclaw_workers/engine/worker_graph.py",
    "openclaw_workers/tasks/worker.py",
}
MOST_IMPORTS = 25

SEES_ALL_STORES = COMPOSITION_ROOTS | {
    "openclaw_workers/engine/base_graph.py",
    "openclaw_workers/engine/client_graph.py",
    "openclaw_workers/engine/intake_graph.py",
    "openclaw_workers/tasks/revoke.py",  # answers Celery's command outside the worker's own graph
    "openclaw_workers/testing/engine.py",
    # What the edges ask: an installation is its settings and its stores.
    "openclaw_workers/cli/context.py",
    "openclaw_workers/queries/installation.py",
    "openclaw_workers/sdk/local_installation.py",
    "ingress/context.py",
    "ingress/graph.py",
}

ALLOWED = {
    # Celery calls plain functions; what the process holds is kept in a class of that module.
    "openclaw_workers/tasks/signals.py": {
        "instance.prepare_args",
        *(f"_Current.{name}" for name in ("facts", "nodename", "worker", "leaving", "drained", "places")),
    },
    # Classes of libraries have no constructor of ours to pass these to.
    "openclaw_workers/tasks/kombu/batch_fetch.py": {"Transport.Channel"},
    "openclaw_workers/interruptible_http.py": {"_here.cancel", "_here.reads_until", "pool._network_backend"},
    "openclaw_workers/providers/http/client.py": {"client._mounts", "client._transport"},
    "openclaw_workers/providers/http/connection_reuse.py": {"response.stream"},
    "openclaw_workers/plugin_imports.py": {"sys.path"},
    "ingress/server/protocol.py": {
        *(f"self.cycle.{name}" for name in ("response_complete", "response_started", "disconnected"))
    },
    "ingress/web/render.py": {"markdown.validateLink"},
    # A provider marks its own error before it raises it again.
    **{
        f"openclaw_workers/providers/{name}.py": {"error.will_differ"}
        for name in ("thinking", "http/refused_files", "program/provider", "openai/dialects")
    },
    # Plain records that the same module makes and fills.
    "openclaw_workers/providers/openai/chat.py": {"called.name", "called.arguments", "called.id"},
    "openclaw_workers/providers/offline/reports.py": {"found[-1].result"},
    "openclaw_workers/skills/catalog.py": {"known.looked"},
    "openclaw_workers/store/client.py": {"held.used_at"},
    "openclaw_workers/views/trees.py": {"node.is_reply"},
    "openclaw_workers/memory/index.py": {
        *(f"report.{name}" for name in ("removed", "indexed", "chunks", "unembedded"))
    },
    "ingress/scripts.py": {"asked.packed"},
    "ingress/auth/rate_limits.py": {"bucket.at", "bucket.left"},
    "ingress/events/session_events.py": {"stream.position"},
}

UNCHECKED = ("openclaw_workers/cli/", "openclaw_workers/tools/")
"""Command-line options are read into one object by click; file tools fill records of their own."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


WIRED = [path for path in MODULES if not name_of(path).startswith(UNCHECKED)]


def assigned_outside(tree: ast.AST) -> Iterator[str]:
    """Attributes that are set on anything but self or cls."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
            continue
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
            yield ast.unparse(node)


def test_no_attribute_is_assigned_from_outside() -> None:
    found = {name_of(path): set(assigned_outside(ast.parse(path.read_text(encoding="utf-8")))) for path in WIRED}
    assert {name: attributes for name, attributes in found.items() if attributes} == ALLOWED


def our_imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("openclaw_workers", "ingress")):
            for alias in node.names:
                inside = ROOT / f"{node.module}.{alias.name}".replace(".", "/")
                is_module = inside.with_suffix(".py").exists()
                found.add(f"{node.module}.{alias.name}" if is_module else str(node.module))
    return found


def test_no_module_but_the_composition_roots_knows_many_others() -> None:
    counts = {name_of(path): len(our_imports(path)) for path in MODULES}
    assert {name for name, count in counts.items() if count > MOST_IMPORTS} <= COMPOSITION_ROOTS


def test_only_composition_roots_see_all_stores() -> None:
    seeing = {name_of(path) for path in MODULES if "openclaw_workers.engine.stores" in our_imports(path)}
    assert seeing <= SEES_ALL_STORES
