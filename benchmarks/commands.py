"""How long a command takes to start: by itself, under its holder, and in a sandbox."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.sandbox.directory import BACKEND_FILES, SandboxDirectory
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.exec import Exec
from openclaw_workers.tools.shell.start import run_briefly

ROUNDS = 30


def command_start() -> dict[str, Any]:
    """Median milliseconds from the call to its answer, for a command that does nothing."""
    with tempfile.TemporaryDirectory() as directory:
        state = Path(directory)
        sandboxes = SandboxDirectory(state / "sandboxes")
        backend = Bubblewrap(sandboxes.root / BACKEND_FILES, run_briefly)
        agent = AgentSettings.model_validate({"sandbox": {"mode": "all"}})
        manager = Sandboxes(sandboxes, backend, agent.sandbox)
        plan = manager.plan("agent:main:main", agent, state / "workspace")
        figures: dict[str, Any] = {
            "bare_ms": _median_ms(lambda: subprocess.run(["/bin/bash", "-c", "true"], check=True)),
            "host_ms": _median_ms(lambda: _exec(state)),
        }
        available = backend.availability()
        if not available.is_available:
            return {**figures, "sandbox": available.reason}
        port = manager.for_session("agent:main:main", plan)
        figures["sandbox_ms"] = _median_ms(lambda: _exec(plan.workspace, sandbox=port))
        return {**figures, "sandbox_over_host_ms": round(figures["sandbox_ms"] - figures["host_ms"], 1)}


def _exec(workspace: Path, **more: Any) -> None:
    workspace.mkdir(parents=True, exist_ok=True)
    context = ToolContext(workspace, "c", "main", "agent:main:main", Cancel(), 60, lambda _: None, **more)
    assert "[exit code 0]" in Exec().run(Exec().parse({"command": "true"}), context)


def _median_ms(act: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        act()
        took.append((time.perf_counter() - began) * 1000)
    return round(median(took), 1)
