"""Shows what happens in a session, turn by turn."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from openclaw_workers.cli.chat.output import ChatOutput
from openclaw_workers.cli.conversation import display, finish, model_of
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.text import printable, styled
from openclaw_workers.cli.render.turn_status import WORKER, TurnStatus
from openclaw_workers.client.protocol import Ended, Quiet, TurnStarted
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.shorten import one_line, shorten
from openclaw_workers.domain.tree import ANNOUNCE
from openclaw_workers.views.answers import answer_of_run, answer_without_run

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.protocol import Backend
    from openclaw_workers.cli.chat.terminal import ChatTerminal
    from openclaw_workers.client.protocol import Update
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.domain.runs import Run

TITLE_CHARS = 200


class SessionView:
    """Used by the thread that follows the session; `status` and `subagents` may be read by others."""

    def __init__(self, backend: Backend, session: SessionKey, terminal: ChatTerminal, *, model: str | None) -> None:
        """`model` is the one that the chat's own messages ask for."""
        self._backend = backend
        self._session = session
        self._terminal = terminal
        self._model = model
        self._status = TurnStatus()
        self._active: dict[str, str] = {}
        self._stream = self._new_stream({})
        self.is_stopping = False
        """Somebody at this terminal has asked to stop the turn."""

    @property
    def status(self) -> str:
        """What the turn waits for, in one line."""
        return self._status.line

    @property
    def subagents(self) -> str:
        """Which sub-agents are active; empty if none is."""
        names = ", ".join(list(self._active.values()))
        return f"{len(self._active)} sub-agent{'s' * (len(self._active) > 1)} active: {names}" if names else ""

    def add_subagent(self, run: str, label: str) -> None:
        self._active[run] = label or run

    def wait_for_worker(self) -> None:
        """A message was sent while no turn runs."""
        self._status.wait_for(WORKER)

    def show(self, update: Update) -> None:
        match update:
            case TurnStarted():
                self._start(update)
            case Ended():
                self._end(update)
            case Event():
                self._show_event(update)
            case Quiet():
                pass
            case _:
                display(self._stream, update)

    def _start(self, started: TurnStarted) -> None:
        row = self._backend.row(self._session)
        self._stream = self._new_stream(row)
        self._status.model = (started.is_own and self._model) or model_of(self._backend, row, self._session)
        self._status.wait_for(WORKER)
        record = started.record
        if started.is_attached:
            waits = record is not None and record.state is RunState.QUEUED
            self._terminal.note("[a turn waits for a worker]" if waits else "[a turn runs; it began with:]")
        if record is not None and not started.is_own and (title := _title(record)):
            self._terminal.print(f"{styled('»', sys.stdout, bold=True)} {title}\n")

    def _end(self, ended: Ended) -> None:
        # An error is no news to the person who has stopped the turn.
        is_stopped, self.is_stopping = self.is_stopping, False
        self._status.end()
        finish(self._stream, ended)
        if ended.run is not None:
            answer = answer_of_run(ended.run)
        elif ended.receipt is not None:
            answer = answer_without_run(self._session, ended.receipt)
        else:
            return  # its record has expired
        if is_stopped and answer.status in ("killed", "cancelled"):
            self._terminal.note("[stopped]")
        elif answer.error:
            self._terminal.report(str(answer.error["message"]), answer.error["hint"])

    def _show_event(self, event: Event) -> None:
        # The events of a turn that already ran are read late, and its times must not start from zero.
        self._status.show(event, age_seconds=(now_ms() - event.at) / 1000)
        data = event.data
        match event.type:
            case "subagent.spawned":
                self.add_subagent(str(data.get("run")), str(data.get("label") or ""))
            case "subagent.announced" | "subagent.discarded":
                for each in data.get("runs") or ():
                    self._active.pop(str(each.get("run")), None)
            case "question.asked":
                how = "/answer" if data.get("kind") == "ask" else "/approve or /deny"
                what = data.get("command") or data.get("text")
                self._terminal.note(f"[a question waits: {what} – {how} {data.get('id')}]")
        self._stream.show(event)

    def _new_stream(self, row: dict[str, str]) -> AnswerStream:
        return AnswerStream(
            verbose=row.get("verboseLevel") or "on",
            usage=row.get("responseUsage") or "off",
            output=ChatOutput(self._terminal),
        )


def _title(run: Run) -> str:
    """The beginning of the message that a turn answers; empty if it reads results of sub-agents."""
    if run.covers and all(message.startswith(ANNOUNCE) for message in run.covers):
        return ""
    return shorten(one_line(printable(run.title)), TITLE_CHARS)
