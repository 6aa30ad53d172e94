"""Tool calls that a dead worker had started: what becomes of them in the next attempt."""

from __future__ import annotations

from typing import Any

import structlog

from openclaw_workers.agent.context.history import result_for
from openclaw_workers.agent.prompt import texts
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.domain.transcript import ToolCallBlock, ToolResultEntry
from openclaw_workers.tools.base import Effect, Tool

log = structlog.get_logger(__name__)


def interrupted_result(call: ToolCallBlock, tool: Tool[Any] | None, setup: TurnSetup) -> ToolResultEntry | None:
    """The result of a call that must not run again (I5); None if it may run.

    A call that only waited for an approval has not run.
    """
    was_held = setup.approvals is not None and setup.approvals.was_held(call.id)
    is_started = call.id == setup.started_call and not was_held
    if tool is None or tool.effect is not Effect.ONCE or not is_started:
        return None
    log.warning("tool.interrupted", tool=call.name, call_id=call.id)
    return result_for(call, texts.WORKER_DIED_DURING_CALL, is_error=True)
