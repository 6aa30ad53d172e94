"""`sessions_send`, `sessions_yield`, `subagents`: message sessions, wait for them and control them."""

from __future__ import annotations

import json
from typing import ClassVar

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, ToolContext
from openclaw_workers.tools.sessions.inputs import SendInput, SubagentsInput, YieldInput
from openclaw_workers.tools.sessions.session_tool import SessionTool, port_of


class SessionsSend(SessionTool[SendInput]):
    """Send a message into another session, named by sessionKey, label or agentId, and wait for its answer. The other
    side sees that it comes from you. After that you may answer each other a few times; reply REPLY_SKIP to end it.
    """

    name = "sessions_send"
    effect = Effect.IDEMPOTENT
    input_type = SendInput

    def run(self, args: SendInput, ctx: ToolContext) -> str:
        return port_of(ctx).send(ctx.call_id, args)


class SessionsYield(SessionTool[YieldInput]):
    """End your turn now and wait for your sub-agents; their results start your next one."""

    name = "sessions_yield"
    effect = Effect.IDEMPOTENT
    input_type = YieldInput
    ends_turn: ClassVar[bool] = True

    def run(self, args: YieldInput, ctx: ToolContext) -> str:
        working = port_of(ctx).children_at_work()
        if working == 0:
            raise ToolError("none of your sub-agents is at work, so nothing would wake you; go on with your task")
        return json.dumps({"status": "yielded", "waitingFor": working, "message": args.message})


class Subagents(SessionTool[SubagentsInput]):
    """Look after the sub-agents you started: list them, look into one, write to one, steer it, or stop it. You need not
    poll: results come to you by themselves.
    """

    name = "subagents"
    effect = Effect.IDEMPOTENT
    input_type = SubagentsInput

    def run(self, args: SubagentsInput, ctx: ToolContext) -> str:
        return port_of(ctx).subagents(ctx.call_id, args)
