"""`offline/script`: the model that does what the user message tells it to, step by step."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.models.transcript import UserEntry
from openclaw_workers.providers.base import ModelRequest, StreamEvent
from openclaw_workers.providers.offline.program import CRASH, EXPECTED, Step, current_steps
from openclaw_workers.providers.offline.streaming import Call, answer, call_blocks, counted, deltas, pieces

# The status a real service would have answered with.
_STATUS = {
    FailureReason.BILLING: 402,
    FailureReason.RATE_LIMIT: 429,
    FailureReason.AUTH: 401,
    FailureReason.AUTH_PERMANENT: 403,
    FailureReason.TIMEOUT: 504,
    FailureReason.FORMAT: 400,
    FailureReason.MODEL_NOT_FOUND: 404,
    FailureReason.CONTEXT_OVERFLOW: 400,
}


def stream(request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
    asked, step = _next_step(request)
    usage, first = counted(request)
    yield first
    if step.delay_ms:
        cancel.wait(step.delay_ms / 1000)
    if step.fail not in {None, CRASH, FailureReason.CUT}:
        raise _failure(FailureReason(str(step.fail)))
    said = step.text if step.fail is None else step.text[: (len(step.text) + 1) // 2]
    yield from deltas(pieces(said, step.chunks), cancel, gap_seconds=step.chunk_delay_ms / 1000)
    if step.fail == CRASH:
        os.kill(os.getpid(), signal.SIGKILL)
    if step.fail is None:
        calls = [Call(call.tool, call.input) for call in step.calls]
        yield answer(step.text, call_blocks(request, asked, calls), usage)


def _next_step(request: ModelRequest) -> tuple[UserEntry | None, Step]:
    current = current_steps(request.messages)
    if current is None:
        return None, Step(text=f"There is no program in this conversation. {EXPECTED}")
    asked, steps, answers = current
    index = answers + request.failed_calls
    return asked, steps[index] if index < len(steps) else Step(text="done")


def _failure(reason: FailureReason) -> ProviderError:
    status = _STATUS.get(reason)
    return ProviderError(f"offline/script was told to fail with {reason}", reason=reason, status=status)
