"""Showing the replies in which a session reads the results of its sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.cli.conversation import display, finish
from openclaw_workers.client.protocol import Ended, Quiet, ReplyStarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.cli.render.answer_stream import AnswerStream
    from openclaw_workers.client.follow_replies import LaterReplies


def show_next_reply(
    cli: CliContext,
    replies: LaterReplies,
    new_screen: Callable[[], AnswerStream],
    *,
    go_on: Callable[[], bool] = lambda: True,
) -> Ended | None:
    """Show the next reply to its end, each turn on a screen of its own.

    None if there is none to come, or if `go_on`, which is called at every pause, says no between two replies.

    Raises:
        WaitOver: the time is up and sub-agents continue.
    """
    screen = new_screen()
    for update in cli.backend.conversations.follow(replies.next_reply()):
        match update:
            case ReplyStarted():
                screen = new_screen()
            case Ended():
                return finish(screen, update)
            case Quiet(in_turn):
                if not go_on() and not in_turn:
                    return None
            case _:
                display(screen, update)
    return None
