"""Where the commands of a turn run: on the host, in the session's sandbox, or on the host by an owner's word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.config.resolve import Overrides
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import NOTHING, AgentConfigs
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes, SandboxPlan
from openclaw_workers.engine.tree.lineage import is_sandboxed
from openclaw_workers.engine.turn.overrides import session_overrides
from openclaw_workers.sandbox.box import WORKSPACE
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.shell.sandbox_port import SandboxPort


@dataclass(frozen=True, slots=True)
class TurnSandbox:
    plan: SandboxPlan | None = None
    """The sandbox of the session; None: it has none."""
    port: SandboxPort | None = None
    """Where commands run; None: on the host."""
    elevation: str = ""
    """on or full: an owner lets commands of a sandboxed session run on the host."""

    @property
    def shown_workspace(self) -> str:
        return WORKSPACE if self.plan else ""


@dataclass(frozen=True, slots=True)
class TurnSandboxes:
    sandboxes: Sandboxes
    agents: AgentConfigs
    may_elevate: Callable[[str], bool]
    """Whether the configuration lets owners run commands of an agent on the host."""
    main_key: str

    def of_turn(self, taken: Taken, session: Overrides, call: Overrides) -> TurnSandbox:
        """The sandbox of a turn, as the configuration, the session and its message want it.

        Raises:
            NotFound: there is no such agent.
        """
        key = taken.lease.session
        agent = self.agents.resolve(agent_of(key), session, call)
        if not is_sandboxed(agent, key, self.main_key):
            return TurnSandbox()
        plan = self.sandboxes.plan(key, agent, self.agents.workspace(agent.id, session, call))
        if elevation := self._elevation(taken):
            return TurnSandbox(plan, elevation=elevation)
        return TurnSandbox(plan, self.sandboxes.for_session(key, plan))

    def workspace(self, taken: Taken) -> Path:
        """Where a turn works: in its sandbox, if that has a directory of its own."""
        key = taken.lease.session
        session = session_overrides(key, taken.row)
        plan = self.of_turn(taken, session, NOTHING).plan
        return plan.workspace if plan else self.agents.workspace(agent_of(key), session)

    def _elevation(self, taken: Taken) -> str:
        level = taken.row.get("elevatedLevel", "")
        # Checked for each turn: the session keeps the level, but others may write in it too.
        is_allowed = taken.authority.covers(Authority.OWNER) and self.may_elevate(agent_of(taken.lease.session))
        return level if is_allowed and level in ("on", "full") else ""
