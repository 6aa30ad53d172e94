"""What `ocw sandbox explain` shows: where the commands of a session run on this host, and what holds them there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes, box_limits
from openclaw_workers.sandbox.box import WORKSPACE, Box
from openclaw_workers.sandbox.directory import SandboxDirectory
from openclaw_workers.sandbox.limits import Limits


@dataclass(frozen=True, slots=True)
class SandboxReports:
    agents: AgentConfigs
    sandboxes: Sandboxes
    is_sandboxed: Callable[[SessionKey], bool]

    def report(self, session: SessionKey) -> dict[str, Any]:
        """As JSON.

        Raises:
            NotFound: there is no such agent.
        """
        agent = self.agents.resolve(agent_of(session))
        settings, workspace = agent.sandbox, self.agents.workspace(agent.id)
        available = self.sandboxes.backend.availability()
        report: dict[str, Any] = {
            "sessionKey": session,
            "mode": settings.mode,
            "sandboxed": self.is_sandboxed(session),
            "backend": self.sandboxes.backend.name,
            "available": available.is_available,
            "reason": "" if available.is_available else available.refusal,
        }
        if not report["sandboxed"]:
            return {**report, "workspace": str(workspace)}
        plan = self.sandboxes.plan(session, agent, workspace)
        box = self._box(session, workspace)
        return {
            **report,
            "sandbox": plan.id,
            "scope": settings.scope,
            "workspaceAccess": plan.access,
            "workspace": str(plan.workspace),
            "inside": WORKSPACE,
            "limits": _limits(box.limits),
            "heldBy": self.sandboxes.backend.measures(box),
        }

    def all(self) -> dict[str, Any]:
        """The sandboxes of this host's state directory."""
        return sandboxes_json(self.sandboxes.directory)

    def prune(self, *, everything: bool) -> dict[str, Any]:
        return {"ok": True, "deleted": self.sandboxes.directory.prune(everything=everything)}

    def _box(self, session: SessionKey, workspace: Path) -> Box:
        """Without making the sandbox."""
        plan = self.sandboxes.plan(session, self.agents.resolve(agent_of(session)), workspace)
        uid = self.sandboxes.uid(plan)
        limits = box_limits(plan.settings.limits)
        return Box(plan.id, plan.workspace, plan.workspace, plan.access, limits, plan.settings.network, uid)


def sandboxes_json(directory: SandboxDirectory) -> dict[str, Any]:
    """The sandboxes that commands have used."""
    shown = [
        {**{to_camel(name): value for name, value in asdict(each.info).items()}, "usedAt": each.used_at}
        for each in directory.all()
    ]
    return {"ok": True, "sandboxes": shown}


def _limits(limits: Limits) -> dict[str, int]:
    """By the names of the settings; sizes in bytes."""
    return {
        "memory": limits.memory_bytes,
        "cpuSeconds": limits.cpu_seconds,
        "processes": limits.processes,
        "disk": limits.disk_bytes,
        "tmp": limits.tmp_bytes,
        "seconds": limits.seconds,
    }
