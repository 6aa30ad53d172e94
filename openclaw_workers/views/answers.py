"""The answer to one message as JSON, whether a run gave it, a slash command did, or nothing did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.tree import Batch
from openclaw_workers.views.errors import problem_json
from openclaw_workers.views.runs import pick
from openclaw_workers.views.subagents import outcome_json

FROM_RUN = ("reason", "usage", "model", "fallbackFrom", "cost")
LATER_REPLY = ("runId", "status", "reason", "text", "usage", "model", "fallbackFrom", "cost", "error")

_FAILURES = {
    RunState.ERROR: "RunFailed",
    RunState.KILLED: "RunStopped",
    RunState.TIMEOUT: "RunTimedOut",
}

_STEPS = {
    "auth": "`ocw init` sets another key",
    "auth_permanent": "`ocw init` sets another key",
    "billing": "check the credit of the account at the provider",
    "rate_limit": "wait a few minutes, or choose another model",
    "model_not_found": "`ocw models list` shows the models",
    "context_overflow": "`/compact` shortens the conversation, `/new` begins another one",
}
"""What to do after a failed model call, by its reason. Chats have their own words (engine/delivery/notice_texts.py)."""


@dataclass(frozen=True, slots=True)
class Answer:
    session: SessionKey
    status: str
    """The state of the run or the message, `command`, `accepted` or `rejected`."""
    run_id: RunId | None = None
    session_id: str | None = None
    text: str | None = None
    error: dict[str, str | None] | None = None
    run: Run | None = None
    """The run that has ended."""
    tree: dict[str, Any] | None = None
    """With `--wait tree`: the later replies and how the sub-agents ended."""


def answer_json(answer: Answer) -> dict[str, Any]:
    """docs/cli.md describes the fields. `text`, `reply` and `response` are the same; clients know one or another.

    The fields of the tree stand beside the others.
    """
    of_run = pick(answer.run, FROM_RUN) if answer.run else dict.fromkeys(FROM_RUN)
    return {
        "ok": answer.error is None,
        "runId": answer.run_id,
        "sessionKey": answer.session,
        "sessionId": answer.session_id,
        "status": answer.status,
        "reason": of_run.pop("reason"),
        "text": answer.text,
        "reply": answer.text,
        "response": answer.text,
        **of_run,
        "error": answer.error,
        **(answer.tree or {}),
    }


def later_reply_json(answer: Answer) -> dict[str, Any]:
    """A reply to the results of sub-agents, listed below the first answer."""
    fields = answer_json(answer)
    return {name: fields[name] for name in LATER_REPLY}


def tree_fields(later: Sequence[Answer], children: Iterable[Run], *, is_settled: bool) -> dict[str, Any]:
    """The later replies, and how the sub-agents ended."""
    return {
        "settled": is_settled,
        "replies": [later_reply_json(answer) for answer in later],
        "subagents": [outcome_json(run) for run in children],
    }


def next_step(reason: str | None, run: RunId) -> str:
    """What to do after a failed model call of a run."""
    step = f"{_STEPS[reason]}; " if reason in _STEPS else ""
    return f"{step}`ocw runs show {run}` shows details"


def answer_of_run(run: Run) -> Answer:
    error: dict[str, str | None] | None = None
    if run.state is not RunState.OK:
        message = run.error or f"the turn was stopped ({run.reason or 'no reason given'})"
        error = problem_json(_FAILURES[run.state], message, next_step(run.reason, run.id))
    return Answer(
        session=run.session_key,
        status=run.state,
        run_id=run.id,
        session_id=run.session_id,
        text=run.text or "",
        error=error,
        run=run,
    )


def answer_without_run(session: SessionKey, receipt: Receipt) -> Answer:
    """The message was cancelled, dropped or rejected before a run took it."""
    if receipt.state == "rejected":
        return rejection(session, receipt.reason or "busy")
    hint = "send it again" if receipt.state == "cancelled" else "`/queue` shows and sets the queue's limits"
    reason = f" ({receipt.reason})" if receipt.reason else ""
    message = f"the message was {receipt.state} before a turn began{reason}"
    return Answer(session, receipt.state, error=problem_json(f"Message{receipt.state.capitalize()}", message, hint))


def rejection(session: SessionKey, reason: str) -> Answer:
    """The session did not accept the message: it is `busy`, or its queue is full."""
    why = "is busy and its queue mode is reject" if reason == "busy" else "has a full queue"
    hint = "wait for its turn to end (`ocw runs watch`), or choose another queue mode with `/queue`"
    return Answer(session, "rejected", error=problem_json("Rejected", f"{session} {why}", hint))


def blocked_announce(batch: Batch) -> dict[str, str | None]:
    return problem_json(
        "AnnounceBlocked",
        f"results of sub-agents could not be delivered: {batch.last_error}",
        f"`ocw subagents retry {batch.id}` tries again",
    )
