"""A chat that is attached to a session: it shows all that happens there, and sends what is typed at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openclaw_workers.cli.backend.protocol import OutgoingText, TurnOptions
from openclaw_workers.cli.chat.actions import Actions
from openclaw_workers.cli.chat.follower import BLOCK_MS, Follower
from openclaw_workers.cli.chat.history_file import open_history
from openclaw_workers.cli.chat.lines import stop_run
from openclaw_workers.cli.chat.overview import read_overview, show_overview, show_question
from openclaw_workers.cli.chat.terminal import ChatTerminal
from openclaw_workers.cli.chat.view import SessionView
from openclaw_workers.cli.chat.words import Words, own_help
from openclaw_workers.cli.conversation import send_message
from openclaw_workers.cli.output import Exit
from openclaw_workers.cli.render.text import printable
from openclaw_workers.cli.render.transcripts import entry_lines, entry_of
from openclaw_workers.client.follow_session import SessionFeed
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import SessionKey, new_message_id
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import BadInput, NotFound, OpenClawError
from openclaw_workers.views.answers import rejection

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from openclaw_workers.cli.context import CliContext

SEND_SECONDS = 10.0
"""How long leaving waits for messages that are being sent."""
ENTRIES = 10


@dataclass(frozen=True, slots=True)
class _Attachment:
    """The session that the chat is in."""

    session: SessionKey
    feed: SessionFeed
    view: SessionView
    follower: Follower


class AttachedChat:
    """One person at a terminal. Sending and following are done in threads, so that typing never waits."""

    def __init__(
        self,
        cli: CliContext,
        session: SessionKey,
        *,
        model: str | None,
        thread: str,
        keys: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._cli = cli
        self._model = model
        self._thread = thread
        self._words = Words()
        self._left = Exit.OK
        self._terminal = ChatTerminal(
            on_message=self._take,
            on_interrupt=self._interrupt,
            status=self._status,
            completer=self._words,
            history=open_history(cli.host.state_dir),
            keys=keys,
            output=output,
        )
        self._at = self._attach(session)
        self._actions = Actions(self._terminal.report)

    def run(self) -> Exit:
        """Until the person leaves."""
        self._actions.add(lambda: self._words.load(self._cli.backend, agent_of(self._at.session)))
        self._at.follower.start()
        self._terminal.run()
        # First the sending: a message that was typed just before Ctrl-D must not be lost.
        is_sent = self._actions.finish(SEND_SECONDS)
        self._at.follower.stop()
        if not is_sent:
            self._terminal.note("[left; the last message may not have been sent]")
        elif self._at.feed.run is not None:
            self._terminal.note("[left; the turn continues]")
        return self._left

    def _attach(self, session: SessionKey) -> _Attachment:
        """Show a session and prepare to follow it.

        Raises:
            OpenClawError: it cannot be read.
        """
        found = read_overview(self._cli.backend, session, self._model)
        show_overview(found, self._terminal)
        backend = self._cli.another_backend()
        feed = SessionFeed(session, block_ms=BLOCK_MS)
        view = SessionView(backend, session, self._terminal, model=self._model)
        for run, label in found.subagents.items():
            view.add_subagent(run, label)
        return _Attachment(session, feed, view, Follower(backend, feed, view, self._terminal.report))

    def _status(self) -> str:
        return self._at.view.status if self._at.feed.is_awaited else self._at.view.subagents

    def _take(self, text: str) -> None:
        """A message was typed."""
        command, _, argument = text.strip().partition(" ")
        show_question(text, self._terminal)
        match command.lower():
            case "/exit" | "/quit":
                self._terminal.leave()
            case "/history":
                self._actions.add(lambda: self._show_history(argument.strip()))
            case "/session":
                self._actions.add(lambda: self._switch(argument.strip()))
            case "/steer":
                self._actions.add(lambda: self._steer(argument.strip()))
            case "/help":
                self._actions.add(lambda: self._help(text, argument.strip()))
            case _:
                self._actions.add(lambda: self._send(text))

    def _interrupt(self) -> None:
        """Ctrl-C: stop the turn, or leave if it is being stopped already; without a turn, empty the line."""
        view, feed = self._at.view, self._at.feed
        if view.is_stopping:
            self._left = Exit.INTERRUPTED
            self._terminal.leave()
        elif feed.is_awaited:
            view.is_stopping = True
            self._terminal.note("[stopping; Ctrl-C again leaves the chat]")
            self._actions.add(self._stop)
        elif self._terminal.clear_input():
            pass
        elif view.subagents:
            self._terminal.note("[/stop stops the sub-agents, Ctrl-D leaves and lets them continue]")
        else:
            self._terminal.note("[Ctrl-D or /exit leaves]")

    def _send(self, text: str, mode: QueueMode | None = None) -> None:
        self._words.check_known(text)
        at, message = self._at, new_message_id()
        outgoing = OutgoingText(
            text=text,
            session=at.session,
            message_id=message,
            options=TurnOptions(self._model),
            mode=mode,
            thread=self._thread,
        )
        # Before `sending`, after which something is always awaited.
        was_busy = at.feed.is_awaited
        # Before the message is sent: its turn may start before the answer to this call arrives.
        at.feed.sending(message)
        try:
            sent = send_message(self._cli, outgoing)
        except OpenClawError:
            at.feed.not_sent(message)
            raise
        match sent:
            case Queued():
                if was_busy:
                    self._terminal.note("[sent]")
                elif at.feed.run is None:
                    at.view.wait_for_worker()
            case Answered(answer):
                at.feed.not_sent(message)
                self._terminal.print(f"{printable(answer)}\n")
            case Rejected(_, reason):
                at.feed.not_sent(message)
                error = rejection(at.session, reason).error or {}
                self._terminal.report(str(error["message"]), error["hint"])

    def _steer(self, text: str) -> None:
        if not text:
            raise BadInput("expected /steer and a message", hint="/steer use the other file")
        self._send(text, QueueMode.STEER)

    def _stop(self) -> None:
        """Stop the turn and what it spawned, or cancel the message if no turn has it; earlier sub-agents continue."""
        at = self._at
        try:
            if at.feed.run is None or not stop_run(self._cli, at.feed.run):
                self._cli.backend.stop_turn(at.session)
        except OpenClawError as error:
            # Otherwise the next Ctrl-C would leave the chat instead of trying again.
            at.view.is_stopping = False
            if not isinstance(error, NotFound):
                raise

    def _show_history(self, argument: str) -> None:
        if argument and not argument.isdecimal():
            raise BadInput(f"{argument!r} is not a number of entries", hint="/history 20")
        entries, _ = self._cli.backend.history(self._at.session, int(argument or ENTRIES) or ENTRIES)
        lines = [line for fields in entries for line in entry_lines(entry_of(fields))]
        plain = self._terminal.renderer.plain
        self._terminal.print("".join(plain(line, hanging="  ") for line in lines) or "(the transcript is empty)\n")

    def _switch(self, wanted: str) -> None:
        """Go on in another session."""
        if not wanted:
            raise BadInput("expected /session and a key", hint="Tab completes the keys of recent sessions")
        session = self._cli.backend.session_key(wanted, "", "")
        at = self._attach(session)
        self._at.follower.stop()
        self._at = at
        self._thread = ""
        at.follower.start()
        self._words.load(self._cli.backend, agent_of(session))

    def _help(self, text: str, argument: str) -> None:
        own = own_help(argument)
        if not (argument and own):
            self._send(text)
        if own:
            self._terminal.print(f"{own}\n")
