"""A sandbox for each test, and a short way to run a command in it. The suite is the same for all backends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes
from openclaw_workers.errors import ToolError
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.sandbox.directory import BACKEND_FILES, SandboxDirectory
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.shell.background_commands import CommandDirectory
from openclaw_workers.tools.shell.exec import Exec
from openclaw_workers.tools.shell.start import run_briefly

SESSION = "agent:main:telegram:group:-1"


@dataclasses.dataclass
class SandboxHarness:
    """Sessions that are sandboxed as a configuration says."""

    state: Path
    sandboxes: Sandboxes
    agent_workspace: Path

    def context(self, session: str = SESSION, **settings: Any) -> ToolContext:
        agent = AgentSettings.model_validate({"sandbox": {"mode": "all", **settings}})
        plan = self.sandboxes.plan(session, agent, self.agent_workspace)
        plan.workspace.mkdir(parents=True, exist_ok=True)
        return ToolContext(
            workspace=plan.workspace,
            call_id="call_1",
            agent_id="main",
            session_key=session,
            cancel=Cancel(),
            timeout_seconds=120,
            progress=lambda _: None,
            commands=CommandDirectory(self.state / "commands"),
            sandbox=self.sandboxes.for_session(session, plan),
        )

    def run(self, command: str, session: str = SESSION, *, timeout: float = 60, **settings: Any) -> str:
        """Run a command; what it printed, also if it was ended."""
        context = self.context(session, **settings)
        try:
            return Exec().run(Exec().parse({"command": command, "timeout": timeout}), context)
        except ToolError as error:
            return f"{error.message}\n{error.output}"


@pytest.fixture
def harness(tmp_path: Path) -> SandboxHarness:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    workspace = tmp_path / "agent-workspace"
    workspace.mkdir()
    directory = SandboxDirectory(state / "sandboxes")
    backend = Bubblewrap(directory.root / BACKEND_FILES, run_briefly)
    return SandboxHarness(state, Sandboxes(directory, backend, AgentSettings().sandbox), workspace)


Run = Callable[..., str]


@pytest.fixture
def run(harness: SandboxHarness) -> Run:
    return harness.run
