"""Showing the replies in which a session reads the results of its sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.cli.conversation import display, finish
from openclaw_workers.client.protocol import Ended, ReplyStarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.cli.render.answer_stream import AnswerStream
    from openclaw_workers.client.follow_replies import LaterReplies


def show_next_reply(
    cli: CliContext,
    replies: LaterReplies,
    new_screen: Callable[[], AnswerStream],
) -> Ended | None:
    """Show the next reply to its end, each turn on a screen of its own.

    None if there is none to come.

    Raises:
        WaitOver: the time is up and sub-agents continue.
    """
    screen = new_screen()
    screen.wait_for("sub-agents")
    try:
        for update in cli.backend.conversations.follow(replies.next_reply()):
            match update:
                case ReplyStarted():
                    screen.close()
                    screen = new_screen()
                case Ended():
                    return finish(screen, update)
                case _:
                    display(screen, update)
    finally:
        screen.close()
    return None
