"""`ocw chat`: a conversation in the terminal, or line by line from a pipe."""

from __future__ import annotations

import sys
from collections import deque

import click

from openclaw_workers.cli.backend.protocol import Backend, OutgoingText, TurnOptions
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import (
    answer_of,
    answer_stream_for,
    exit_code_of,
    print_answer,
    send_message,
    show,
)
from openclaw_workers.cli.keyboard import Keyboard
from openclaw_workers.cli.later_replies import show_next_reply
from openclaw_workers.cli.output import Exit, exit_code, json_option, leave, not_empty, report
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.text import styled
from openclaw_workers.client.follow_message import BLOCK_MS, Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.domain.ids import SessionKey, new_message_id
from openclaw_workers.engine.intake.accept import Answered, Queued, Rejected
from openclaw_workers.errors import BadInput, ConflictError, NotFound, OpenClawError, StoreUnavailable
from openclaw_workers.views.answers import Answer, rejection

LEAVE = frozenset({"/exit", "/quit"})
LOOK_MS = 200
"""How often typed input is read while a turn runs."""


@click.command(
    epilog="""\b
Examples:
  ocw chat
  ocw chat --agent work --session notes
  printf 'hello\\nwhat tools do you have?\\n' | ocw chat
Ctrl-C stops the turn, Ctrl-D or /exit leaves. A message typed while a turn runs is sent at once; the session's
queue mode (/queue) decides what happens to it. Results of sub-agents appear as they arrive. /help lists the commands.
"""
)
@click.option("--agent", "agent_id", metavar="ID", default="", help="The agent; default: the default agent.")
@click.option(
    "--session", metavar="KEY", default="", callback=not_empty, help="The session; default: the agent's main session."
)
@click.option("--thread", metavar="ID", default="", help="Talk in a thread, to the sub-agent bound to it.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model for the turns of this chat.")
@json_option
@pass_cli
def chat(cli: CliContext, agent_id: str, session: str, thread: str, model: str | None) -> None:
    """Talk to an agent in the terminal."""
    key = cli.backend.session_key(session, agent_id, thread)
    leave(Chat(cli, key, Keyboard(), model=model, thread=thread).run())


class _Leaving(Exception):
    """The person leaves while a turn runs."""


class Chat:
    """One conversation; messages are followed in the order they were sent."""

    def __init__(
        self, cli: CliContext, session: SessionKey, keyboard: Keyboard, *, model: str | None, thread: str
    ) -> None:
        self._cli = cli
        self._session = session
        self._model = model
        self._thread = thread
        self._keyboard = keyboard
        self._sent: deque[Queued] = deque()
        self._block_ms = LOOK_MS if keyboard.is_person else BLOCK_MS
        self._replies = LaterReplies(session, of_all=keyboard.is_person, block_ms=self._block_ms)
        self._shown = ""
        """The run whose answer was printed last; messages answered together share it."""
        self._failed = Exit.OK

    def run(self) -> Exit:
        """Until the person leaves or the input ends. A script's exit code says whether every message was answered."""
        # Connect and import before the first message, so that failures show at once.
        self._cli.backend.check()
        self._cli.backend.row(self._session)
        if self._keyboard.is_person:
            about = f"{self._session}  ·  /help lists commands, Ctrl-C stops a turn, Ctrl-D leaves"
            click.echo(styled(about, sys.stderr, dim=True), err=True)
        try:
            while self._sent or self._show_replies() or self._read_message():
                self._follow_all()
            while not self._keyboard.is_person and self._show_reply():
                pass
        except _Leaving:
            self._note("left; the turn continues")
        return Exit.OK if self._keyboard.is_person else self._failed

    def _show_replies(self) -> bool:
        """While sub-agents are active, show a person the replies to them. True as soon as a message was typed."""
        if not self._keyboard.is_person:
            return False
        count = self._cli.backend.conversations.result(self._replies.count_active())
        if not count:
            return False
        many = "sub-agents are" if count > 1 else "sub-agent is"
        self._note(f"{count} {many} active; keep typing if you like, /stop stops them")
        while not self._sent:
            try:
                if not self._show_reply():
                    break
            except KeyboardInterrupt:
                self._note("/stop stops the sub-agents, Ctrl-D leaves and lets them continue")
        return bool(self._sent)

    def _show_reply(self) -> bool:
        """Show the next reply to sub-agents' results; False when there is none to come."""
        ended = show_next_reply(
            self._cli, self._replies, lambda: answer_stream_for(self._cli, self._session), go_on=self._is_still_idle
        )
        if ended is not None:
            self._print(answer_of(self._session, ended), is_text_shown=True)
        return ended is not None

    def _is_still_idle(self) -> bool:
        """Send what was typed; False if a message now waits for its answer."""
        self._send_typed()
        return not self._sent

    def _read_message(self) -> bool:
        """Read and send one message; False when the person leaves."""
        while True:
            try:
                text = self._keyboard.read()
            except KeyboardInterrupt:
                click.echo("(Ctrl-D or /exit leaves)", err=True)
                continue
            if text is None or text.strip().lower() in LEAVE:
                return False
            if text.strip():
                self._send(text)
                return True

    def _send(self, text: str) -> None:
        try:
            outgoing = OutgoingText(
                text=text,
                session=self._session,
                message_id=new_message_id(),
                options=TurnOptions(self._model),
                thread=self._thread,
            )
            sent = send_message(self._cli, outgoing)
            match sent:
                case Queued() as queued:
                    self._sent.append(queued)
                case Answered(text=answer):
                    self._print(Answer(self._session, "command", text=answer), is_text_shown=False)
                case Rejected(_, reason):
                    self._print(rejection(self._session, reason), is_text_shown=True)
        except (BadInput, StoreUnavailable) as error:
            self._report(error)

    def _send_typed(self) -> None:
        """Send what was typed while a turn runs."""
        text = self._keyboard.typed()
        if text is None or text.strip().lower() in LEAVE:
            raise _Leaving
        if text.strip():
            before = len(self._sent)
            self._send(text)
            if len(self._sent) > before:
                self._note("sent")

    def _note(self, text: str) -> None:
        click.echo(styled(f"[{text}]", sys.stderr, dim=True), err=True)

    def _follow_all(self) -> None:
        while self._sent:
            queued = self._sent.popleft()
            try:
                self._follow(queued)
            except NotFound as error:
                self._report(error)

    def _follow(self, queued: Queued) -> None:
        screen = answer_stream_for(self._cli, self._session)
        conversation = Conversation(
            self._session,
            message=queued.message_id,
            run=queued.run,
            after=queued.event_id,
            block_ms=self._block_ms,
        )
        answer = self._show(conversation, screen)
        if answer.run_id:
            self._cli.backend.conversations.result(self._replies.add_run(answer.run_id, conversation.after))
        if answer.status == "killed" and self._keyboard.is_person:
            screen.note("stopped")
        elif answer.run_id != self._shown or answer.error:
            self._print(answer, is_text_shown=True)
        self._shown = answer.run_id or ""

    def _show(self, conversation: Conversation, screen: AnswerStream) -> Answer:
        """Show a turn. Ctrl-C stops it; Ctrl-C again, before it has stopped, leaves the chat."""
        try:
            return show(self._cli, conversation, screen, on_quiet=self._send_typed)
        except KeyboardInterrupt:
            screen.note("stopping; Ctrl-C again leaves the chat")
            self._stop(conversation, screen)
        return show(self._cli, conversation, screen)

    def _stop(self, conversation: Conversation, screen: AnswerStream) -> None:
        """Stop the turn and what it spawned, or cancel the message if no turn has it; earlier sub-agents continue."""
        backend = self._cli.backend
        try:
            if conversation.run is None or not _is_stopped(backend, conversation.run):
                backend.stop_turn(self._session)
        except (NotFound, StoreUnavailable) as error:
            screen.note(f"not stopped: {error.message}")

    def _report(self, error: OpenClawError) -> None:
        self._failed = exit_code(error)
        report(type(error).__name__, error.message, error.hint, as_json=self._cli.json)

    def _print(self, answer: Answer, *, is_text_shown: bool) -> None:
        if (code := exit_code_of(answer)) is not Exit.OK:
            self._failed = code
        print_answer(self._cli, answer, is_text_shown=is_text_shown)


def _is_stopped(backend: Backend, run: str) -> bool:
    """Stop a run; False if there was nothing left to stop."""
    try:
        backend.stop_run(run)
    except ConflictError:
        return False
    return True
