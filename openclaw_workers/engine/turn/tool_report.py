"""Which tools a session's turns have, and which layer of the policy removed the others: for people who ask."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.turn.agent_frame import policy_inputs
from openclaw_workers.engine.turn.overrides import session_overrides
from openclaw_workers.engine.turn.prepare import Preparer
from openclaw_workers.store.reader import Reader
from openclaw_workers.tools.aliases import ALIASES
from openclaw_workers.tools.policy.pipeline import Decision
from openclaw_workers.tools.policy.policy import ToolPolicy


class ToolReports:
    def __init__(self, agents: AgentConfigs, preparer: Preparer, policy: ToolPolicy, reader: Reader) -> None:
        self._agents = agents
        self._preparer = preparer
        self._policy = policy
        self._reader = reader

    def report(self, session: SessionKey, authority: Authority) -> dict[str, Any]:
        """As JSON. A session that does not exist yet is reported as it would begin.

        Raises:
            NotFound: there is no such agent.
            CorruptRecord: the session's row cannot be read.
        """
        row = self._reader.row(session)
        agent = self._agents.resolve(agent_of(session), session_overrides(session, row))
        inputs = policy_inputs(agent, self._preparer.position(session, row, authority))
        decision = self._policy.decide(inputs)
        return {
            "sessionKey": session,
            "agentId": agent.id,
            "model": inputs.model,
            "authority": inputs.authority,
            "depth": inputs.depth,
            "sandboxed": inputs.is_sandboxed,
            "group": inputs.group.stored() if inputs.group else None,
            "tools": [_tool(name, decision) for name in sorted((*decision.allowed, *decision.removed))],
            "warnings": list(decision.warnings),
        }


def _tool(name: str, decision: Decision) -> dict[str, Any]:
    removal = decision.removed.get(name)
    return {
        "name": name,
        "aliases": [alias for alias, stands_for in ALIASES.items() if stands_for.tool == name],
        "allowed": removal is None,
        "removedBy": removal.layer if removal else None,
        "reason": removal.text if removal else None,
        "setting": removal.line if removal and removal.rule.is_setting else None,
    }
