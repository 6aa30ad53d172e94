"""`cron`: scheduled jobs and reminders. For turns that an owner asked for."""

from __future__ import annotations

from openclaw_workers.errors import OpenClawError, ToolError
from openclaw_workers.tools.base import Effect, Tool, ToolContext
from openclaw_workers.tools.context import require
from openclaw_workers.tools.cron.inputs import CronInput


class CronTool(Tool[CronInput]):
    """Make, list, change, remove and run scheduled jobs, such as reminders. A reminder is a job with `at` and a message
    that says what to remind of. To add one, give the action add and the job; the answer shows its next times."""

    name = "cron"
    effect = Effect.IDEMPOTENT
    input_type = CronInput

    def run(self, args: CronInput, ctx: ToolContext) -> str:
        schedules = require(ctx.schedules, "there are no scheduled jobs here")
        try:
            return schedules.handle(ctx.call_id, args)
        except OpenClawError as error:
            raise ToolError(f"{error.message}{f' ({error.hint})' if error.hint else ''}") from error
