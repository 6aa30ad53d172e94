"""`agents_list`: the agents that may be named in `sessions_spawn`."""

from __future__ import annotations

from openclaw_workers.tools.base import Effect, ToolContext, ToolInput
from openclaw_workers.tools.sessions.session_tool import SessionTool, port_of


class AgentsListInput(ToolInput):
    """Nothing is asked for."""


class AgentsList(SessionTool[AgentsListInput]):
    """List the agents that you may name in sessions_spawn."""

    name = "agents_list"
    effect = Effect.NONE
    input_type = AgentsListInput

    def run(self, args: AgentsListInput, ctx: ToolContext) -> str:
        return port_of(ctx).agents()
