"""`ask_user`: a question to the people of the session, with choices. The turn waits without a worker."""

from __future__ import annotations

import json

from openclaw_workers.tools.base import Effect, Tool, ToolContext
from openclaw_workers.tools.context import require
from openclaw_workers.tools.messaging.inputs import AskInput


class AskUser(Tool[AskInput]):
    """Ask the user a question and wait for the answer, with choices as buttons where the chat has them. Use it when you
    cannot go on without a decision; your turn continues with the answer."""

    name = "ask_user"
    effect = Effect.IDEMPOTENT
    input_type = AskInput

    def run(self, args: AskInput, ctx: ToolContext) -> str:
        return require(ctx.questions, "there is nobody to ask here").ask(ctx.call_id, args)

    def is_refusal(self, answer: str) -> bool:
        return bool(json.loads(answer)["status"] == "expired")
