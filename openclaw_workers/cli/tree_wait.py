"""`ocw agent --wait tree`: the answer, then the replies to the results of its sub-agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from openclaw_workers.cli.conversation import answer_of, answer_stream_for
from openclaw_workers.cli.later_replies import show_next_reply
from openclaw_workers.cli.output import Exit, echo_json, leave, report
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.errors import OpenClawError
from openclaw_workers.views.answers import Answer, answer_json, blocked_announce, tree_fields
from openclaw_workers.views.errors import error_json

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext


class Interrupted(OpenClawError):
    """Ctrl-C while waiting; the run continues."""


def wait_for_tree(cli: CliContext, first: Answer, after: str, deadline: Deadline) -> Answer:
    """Show the later replies until everything that the answer's run spawned has ended and was delivered."""
    assert first.run_id is not None, "only a run spawns"
    replies = LaterReplies(first.session, deadline=deadline)
    cli.backend.conversations.result(replies.add_run(first.run_id, after))
    later: list[Answer] = []
    # A list, because the screen that must be closed after Ctrl-C is whichever was opened last.
    screens = [AnswerStream(is_quiet=cli.json)]

    def screen() -> AnswerStream:
        screens.append(answer_stream_for(cli, first.session))
        return screens[-1]

    try:
        if count := cli.backend.conversations.result(replies.count_active()):
            many, them = ("sub-agents are", "them") if count > 1 else ("sub-agent is", "it")
            line = f"{count} {many} active; Ctrl-C leaves {them} running, `ocw runs tree` shows {them}"
            screens[0].note(line, is_activity=True)
        while ended := show_next_reply(cli, replies, screen):
            later.append(answer_of(first.session, ended))
    except (WaitOver, KeyboardInterrupt) as stopped:
        screens[-1].finish(None)
        why = stopped if isinstance(stopped, WaitOver) else _interrupted(replies)
        tree = _tree_json(cli, replies, later, is_settled=False)
        _leave(cli, replace(first, error=error_json(why), tree=tree), why)
    failed = [each.error for each in later if each.error] + [blocked_announce(batch) for batch in replies.blocked]
    return replace(
        first,
        error=first.error or (failed[-1] if failed else None),
        tree=_tree_json(cli, replies, later, is_settled=True),
    )


def _tree_json(cli: CliContext, replies: LaterReplies, later: list[Answer], *, is_settled: bool) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    return tree_fields(later, cli.backend.conversations.result(replies.children()), is_settled=is_settled)


def _interrupted(replies: LaterReplies) -> Interrupted:
    session = replies.session
    return Interrupted(
        f"interrupted; the sub-agents of {session} continue, and it gets their results",
        hint=f"`ocw runs tree {session} --watch` shows them, `ocw agent --session {session} -m /stop` stops them",
    )


def _leave(cli: CliContext, unfinished: Answer, why: OpenClawError) -> NoReturn:
    """Stop waiting for sub-agents that continue, and report their state."""
    if cli.json:
        echo_json(answer_json(unfinished))
    else:
        report(type(why).__name__, why.message, why.hint, as_json=False)
    leave(Exit.WAIT_OVER if isinstance(why, WaitOver) else Exit.INTERRUPTED)
