"""`ocw agent --wait tree`: the answer, and all that the agent says once its sub-agents have reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from openclaw_workers.cli.conversation import Result, result_of, screen_for
from openclaw_workers.cli.later_replies import Replies
from openclaw_workers.cli.output import Exit, WaitOver, echo_json, error_json, leave, report
from openclaw_workers.cli.render.screen import Screen
from openclaw_workers.errors import OpenClawError

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.tree import Batch


class Interrupted(OpenClawError):
    """Ctrl-C while waiting; the run goes on."""


def whole_tree(cli: CliContext, first: Result, after: str, seconds: float | None) -> Result:
    """Show the replies that come later, until nothing of what the answer's run began is at work."""
    assert first.run is not None, "only a turn spawns"
    replies = Replies(cli.stores, first.session, of_all=False, seconds=seconds)
    replies.follow(first.run, after)
    later: list[Result] = []
    screens = [Screen(is_quiet=cli.json)]

    def screen() -> Screen:
        screens.append(screen_for(cli, first.session))
        return screens[-1]

    try:
        if count := replies.at_work():
            many, them = ("sub-agents are", "them") if count > 1 else ("sub-agent is", "it")
            told = f"{count} {many} at work; Ctrl-C leaves {them} running, `ocw runs tree` shows {them}"
            screens[0].note(told, is_activity=True)
        while ended := replies.next(screen):
            later.append(result_of(first.session, ended))
    except (WaitOver, KeyboardInterrupt) as stopped:
        screens[-1].finish(None)
        why = stopped if isinstance(stopped, WaitOver) else _interrupted(replies)
        _leave_them(cli, replace(first, error=error_json(why), tree=_facts(replies, later, is_settled=False)), why)
    failed = [each.error for each in later if each.error] + [_blocked(batch) for batch in replies.blocked]
    return replace(
        first,
        error=first.error or (failed[-1] if failed else None),
        tree=_facts(replies, later, is_settled=True),
    )


def _facts(replies: Replies, later: list[Result], *, is_settled: bool) -> dict[str, Any]:
    """docs/cli.md lists the fields."""
    told = ("runId", "status", "reason", "text", "usage", "model", "fallbackFrom", "cost", "error")
    return {
        "settled": is_settled,
        "replies": [{name: each.as_json()[name] for name in told} for each in later],
        "subagents": [
            {
                "runId": run.id,
                "childSessionKey": run.session_key,
                "label": run.label,
                "state": run.state,
                "outcome": run.outcome,
                "endedReason": run.ended_reason,
            }
            for run in replies.children()
        ],
    }


def _blocked(batch: Batch) -> dict[str, str | None]:
    return {
        "type": "AnnounceBlocked",
        "message": f"results of sub-agents could not be delivered: {batch.last_error}",
        "hint": f"`ocw subagents retry {batch.id}` tries again",
    }


def _interrupted(replies: Replies) -> Interrupted:
    session = replies.session
    return Interrupted(
        f"interrupted; the sub-agents of {session} go on, and it hears of them",
        hint=f"`ocw runs tree {session} --watch` shows them, `ocw agent --session {session} -m /stop` stops them",
    )


def _leave_them(cli: CliContext, unfinished: Result, why: OpenClawError) -> NoReturn:
    """Go away from sub-agents that go on, and say how it stands."""
    if cli.json:
        echo_json(unfinished.as_json())
    else:
        report(type(why).__name__, why.message, why.hint, as_json=False)
    leave(Exit.WAIT_OVER if isinstance(why, WaitOver) else Exit.INTERRUPTED)
