"""`offline/script`: a model that runs the program in the user message, step by step."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import UserEntry
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import ModelRequest, StreamEvent
from openclaw_workers.providers.offline.event_stream import Call, answer, call_blocks, counted, deltas, pieces
from openclaw_workers.providers.offline.incoming import announce_is_new, newest_said
from openclaw_workers.providers.offline.program import CRASH, EXPECTED, Step, current_steps

_MOST_ECHOED_BYTES = 200_000

# The status that a real service would return.
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
    text = step.text + _echo(request) if step.echo else step.text
    # A cut or crash comes in the middle: half of the text has been shown by then.
    said = text if step.fail is None else text[: (len(text) + 1) // 2]
    yield from deltas(pieces(said, step.chunks), cancel, gap_seconds=step.chunk_delay_ms / 1000)
    if step.fail == CRASH:
        os.kill(os.getpid(), signal.SIGKILL)
    # A stream that ends without an answer is what a cut connection looks like.
    if step.fail is None:
        calls = [Call(call.tool, call.input) for call in step.calls]
        yield answer(text, call_blocks(request, asked, calls), usage)


def _next_step(request: ModelRequest) -> tuple[UserEntry | None, Step]:
    current = current_steps(request.messages)
    if current is None:
        return None, Step(text=f"There is no program in this conversation. {EXPECTED}")
    asked, steps, answers = current
    # A failed call leaves no answer, but its step is done: a retry gets the next step and not the same failure.
    index = answers + request.failed_calls
    if index < len(steps):
        return asked, steps[index]
    return asked, Step(text="noted" if announce_is_new(request.messages) else "done")


def _echo(request: ModelRequest) -> str:
    heard = newest_said(request.messages).encode(errors="surrogatepass")
    return heard[:_MOST_ECHOED_BYTES].decode(errors="ignore")


def _failure(reason: FailureReason) -> ProviderError:
    message = f"offline/script was asked to fail with {reason}"
    # Its rate limit can be retried at once.
    wait = 0.0 if reason is FailureReason.RATE_LIMIT else None
    return ProviderError(message, reason=reason, status=_STATUS.get(reason), retry_after=wait)
