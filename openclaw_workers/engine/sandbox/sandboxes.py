"""The sandboxes of one place: which one a session uses, and how its commands start there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from openclaw_workers.clock import now_ms
from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.config.sandbox import SandboxLimitSettings, SandboxSettings
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import ToolError
from openclaw_workers.sandbox.backend import Backend
from openclaw_workers.sandbox.box import Access, Box
from openclaw_workers.sandbox.directory import SandboxDirectory, SandboxInfo
from openclaw_workers.sandbox.launch import Launch
from openclaw_workers.sandbox.limits import Limits


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """The sandbox of a session. It costs nothing until a command uses it."""

    id: str
    workspace: Path
    """On the host: a directory of its own with access none, else the agent's."""
    access: Access
    settings: SandboxSettings


class Sandboxes:
    def __init__(self, directory: SandboxDirectory, backend: Backend, defaults: SandboxSettings) -> None:
        """`defaults` holds for sandboxes that agents share."""
        self.directory = directory
        self.backend = backend
        self._defaults = defaults

    def plan(self, session: str, agent: AgentSettings, workspace: Path) -> SandboxPlan:
        """Which sandbox a session uses; `workspace` is that of its agent."""
        # A sandbox that agents share cannot have the limits of one of them.
        settings = self._defaults if agent.sandbox.scope == "shared" else agent.sandbox
        access = agent.sandbox.workspace_access
        sandbox_id = _id_of(session, agent.sandbox.scope)
        own = self.directory.private_workspace(sandbox_id)
        return SandboxPlan(sandbox_id, own if access == "none" else workspace, access, settings)

    def for_session(self, session: str, plan: SandboxPlan) -> SessionSandbox:
        return SessionSandbox(self, session, plan)

    def box(self, session: str, plan: SandboxPlan) -> Box:
        """The sandbox itself, made at its first use.

        Raises:
            OSError: it cannot be made.
        """
        plan.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = self._info(session, plan)
        home = self.directory.use(info)
        limits = box_limits(plan.settings.limits)
        return Box(plan.id, home, plan.workspace, plan.access, limits, plan.settings.network, info.uid)

    def uid(self, plan: SandboxPlan) -> int | None:
        """The user of its commands; None: that of the worker.

        Raises:
            OSError: there is none left.
        """
        # Several sandboxes may share one workspace; its files have one owner.
        key = plan.id if plan.access == "none" else str(plan.workspace)
        return self.directory.uid(key, plan.settings.uid_base)

    def _info(self, session: str, plan: SandboxPlan) -> SandboxInfo:
        settings = plan.settings
        return SandboxInfo(
            id=plan.id,
            agent_id=agent_of(session),
            session_key=session,
            scope=settings.scope,
            access=plan.access,
            workspace=str(plan.workspace),
            uid=self.uid(plan),
            created_at=now_ms(),
            idle_ms=int(settings.prune.idle.total_seconds() * 1000),
            max_age_ms=int(settings.prune.max_age.total_seconds() * 1000),
            busy_ms=settings.limits.seconds * 1000,
        )


@dataclass(frozen=True, slots=True)
class SessionSandbox:
    """Implements tools.shell.sandbox_port.SandboxPort for one session."""

    sandboxes: Sandboxes
    session: str
    plan: SandboxPlan

    def launch(self, argv: Sequence[str], *, workdir: Sequence[str], env: Mapping[str, str]) -> Launch:
        available = self.sandboxes.backend.availability()
        # Never on the host instead: whoever asked for a sandbox does not trust the command.
        if not available.is_available:
            raise ToolError(
                f"this session is sandboxed, and no sandbox can be started on this host: {available.refusal} "
                "The command did not run; tell the person who runs this installation"
            )
        try:
            box = self.sandboxes.box(self.session, self.plan)
            return self.sandboxes.backend.launch(box, argv, workdir=workdir, env=env)
        except OSError as error:
            raise ToolError(f"the sandbox cannot be prepared: {error.strerror or error}") from error


def _id_of(session: str, scope: str) -> str:
    if scope == "shared":
        return "shared"
    agent = agent_of(session)
    # Hashed: the key of a session holds characters that names of directories cannot.
    return f"agent-{agent}" if scope == "agent" else f"session-{agent}-{sha256(session.encode()).hexdigest()[:12]}"


def box_limits(settings: SandboxLimitSettings) -> Limits:
    return Limits(
        memory_bytes=settings.memory,
        cpu_seconds=settings.cpu_seconds,
        processes=settings.processes,
        disk_bytes=settings.disk,
        tmp_bytes=settings.tmp,
        seconds=settings.seconds,
    )
