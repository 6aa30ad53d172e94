"""`sessions_spawn`: start sub-agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from openclaw_workers.tools.base import Effect, ToolContext
from openclaw_workers.tools.sessions.port import SpawnCall
from openclaw_workers.tools.sessions.session_tool import SessionTool, port_of
from openclaw_workers.tools.sessions.spawn_input import SpawnInput


class SessionsSpawn(SessionTool[SpawnInput]):
    """Start a sub-agent in the background. Answers at once; the result comes back to you by itself when it is done, so
    do not wait or poll for it. Call it several times in one message to have sub-agents work side by side and report
    together.
    """

    name = "sessions_spawn"
    effect = Effect.IDEMPOTENT
    input_type = SpawnInput
    batched: ClassVar[bool] = True

    def run(self, args: SpawnInput, ctx: ToolContext) -> str:
        return self.run_batch([(args, ctx)])[0]

    def run_batch(self, calls: Sequence[tuple[SpawnInput, ToolContext]]) -> list[str]:
        return port_of(calls[0][1]).spawn([SpawnCall(ctx.call_id, args) for args, ctx in calls])
