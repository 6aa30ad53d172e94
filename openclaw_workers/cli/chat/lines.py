"""A chat line by line, as from a pipe: each line is a message, and is answered before the next one is read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.backend.protocol import OutgoingText, TurnOptions
from openclaw_workers.cli.conversation import (
    answer_of,
    answer_stream_for,
    exit_code_of,
    print_answer,
    send_message,
    show,
)
from openclaw_workers.cli.keyboard import read_line
from openclaw_workers.cli.later_replies import show_next_reply
from openclaw_workers.cli.output import Exit, exit_code, report
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import SessionKey, new_message_id
from openclaw_workers.errors import BadInput, ConflictError, NotFound, OpenClawError, StoreUnavailable
from openclaw_workers.views.answers import Answer, rejection

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.cli.render.answer_stream import AnswerStream

LEAVE = frozenset({"/exit", "/quit"})
PROMPT = "> "


class LineChat:
    """One conversation. A script's exit code says whether every message was answered."""

    def __init__(self, cli: CliContext, session: SessionKey, *, model: str | None, thread: str) -> None:
        self._cli = cli
        self._session = session
        self._model = model
        self._thread = thread
        self._replies = LaterReplies(session)
        self._shown = ""
        """The run whose answer was printed last; messages answered together share it."""
        self._failed = Exit.OK

    def run(self) -> Exit:
        """Until the input ends, and the sub-agents that were started have reported."""
        # Connect and import before the first message, so that failures show at once.
        self._cli.backend.check()
        self._cli.backend.row(self._session)
        while (text := self._next_text()) is not None:
            if text.strip():
                self._send(text)
        while self._show_reply():
            pass
        return self._failed

    def _next_text(self) -> str | None:
        """The next line; None at the end. A line that is not text is reported as a failed message."""
        if sys.stdin.isatty():  # a terminal that is not fit for more, or whose output goes elsewhere
            click.echo(PROMPT, nl=False, err=True)
        try:
            line = read_line()
        except BadInput as error:
            self._report(error)
            return ""
        return line if line is not None and line.strip().lower() not in LEAVE else None

    def _send(self, text: str) -> None:
        outgoing = OutgoingText(
            text=text,
            session=self._session,
            message_id=new_message_id(),
            options=TurnOptions(self._model),
            thread=self._thread,
        )
        try:
            match send_message(self._cli, outgoing):
                case Queued() as queued:
                    self._follow(queued)
                case Answered(text=answer):
                    self._print(Answer(self._session, "command", text=answer), is_text_shown=False)
                case Rejected(_, reason):
                    self._print(rejection(self._session, reason), is_text_shown=True)
        except (BadInput, StoreUnavailable, NotFound) as error:
            self._report(error)

    def _follow(self, queued: Queued) -> None:
        screen = answer_stream_for(self._cli, self._session, self._model)
        conversation = Conversation(self._session, message=queued.message_id, run=queued.run, after=queued.event_id)
        answer = self._show(conversation, screen)
        if answer.run_id:
            self._cli.backend.conversations.result(self._replies.add_run(answer.run_id, conversation.after))
        # Messages that were collected into one turn have one answer, which is printed once.
        if answer.run_id != self._shown or answer.error:
            self._print(answer, is_text_shown=True)
        self._shown = answer.run_id or ""

    def _show(self, conversation: Conversation, screen: AnswerStream) -> Answer:
        """Show a turn. Ctrl-C stops it; Ctrl-C again, before it has stopped, leaves the chat."""
        try:
            return show(self._cli, conversation, screen)
        except KeyboardInterrupt:
            screen.note("stopping; Ctrl-C again leaves the chat")
            stop_turn(self._cli, conversation, screen)
        return show(self._cli, conversation, screen)

    def _show_reply(self) -> bool:
        """Show the next reply to sub-agents' results; False when there is none to come."""
        ended = show_next_reply(self._cli, self._replies, lambda: answer_stream_for(self._cli, self._session))
        if ended is not None:
            self._print(answer_of(self._session, ended), is_text_shown=True)
        return ended is not None

    def _report(self, error: OpenClawError) -> None:
        self._failed = exit_code(error)
        report(type(error).__name__, error.message, error.hint, as_json=self._cli.json)

    def _print(self, answer: Answer, *, is_text_shown: bool) -> None:
        if (code := exit_code_of(answer)) is not Exit.OK:
            self._failed = code
        print_answer(self._cli, answer, is_text_shown=is_text_shown)


def stop_turn(cli: CliContext, conversation: Conversation, screen: AnswerStream) -> None:
    """Stop the turn and what it spawned, or cancel the message if no turn has it; earlier sub-agents continue."""
    try:
        if conversation.run is None or not stop_run(cli, conversation.run):
            cli.backend.stop_turn(conversation.session)
    except (NotFound, StoreUnavailable) as error:
        screen.note(f"not stopped: {error.message}")


def stop_run(cli: CliContext, run: str) -> bool:
    """Stop a run; False if there was nothing left to stop."""
    try:
        cli.backend.stop_run(run)
    except ConflictError:
        return False
    return True
