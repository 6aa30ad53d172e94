"""What a call of the cron tool may say."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from openclaw_workers.tools.input import ToolInput


class CronInput(ToolInput):
    action: Literal["status", "list", "add", "update", "remove", "run", "runs", "wake"]
    """status, list: what there is. add, update, remove: change jobs. run: fire one now. runs: how earlier ones went.
    wake: tell the main session something."""

    job_id: str = Field(default="", alias="jobId")
    """The job, for update, remove, run and runs."""

    job: dict[str, Any] = Field(default_factory=dict)
    """For add and update. When: one of at (an ISO time, or a duration from now such as 10s or 20m), every (30m) or cron
    ("0 9 * * 1-5"), with tz. What: message (you are asked this in a turn) or systemEvent (a session is told this).
    Also name, sessionTarget (current, main, isolated, session:<key>), model, fallbacks, thinking, timeoutSeconds,
    toolsAllow, lightContext, delivery (announce, none, webhook with its address in to), channel, to, threadId, misfire
    (skip, once, all), overlap (skip, queue), deleteAfterRun."""

    text: str = ""
    """For wake: what to tell."""

    mode: Literal["now", "next-heartbeat"] = "now"
    """For wake: whether it starts a turn."""

    limit: int = Field(default=20, ge=1, le=200)
    """For runs: how many."""
