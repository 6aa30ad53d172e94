"""A turn on the terminal: its text on stdout as it arrives, everything else dimmed on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.render.activity import Activity
from openclaw_workers.cli.render.text import has_colour, printable, span
from openclaw_workers.client.follow_message import waits_for_place
from openclaw_workers.domain.usage_line import usage_line

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.store.reader import Event

SPAWN = "sessions_spawn"


class AnswerStream:
    """Shows one turn. Stdout ends with the committed answer, even if a worker died half-way.

    After a takeover a terminal shows the answer again from the start. Text in a pipe cannot be withdrawn, so there the
    next attempt is printed only from where it goes beyond the printed text, or on a new line if it differs.
    """

    def __init__(self, *, is_quiet: bool = False, verbose: str = "on", usage: str = "off") -> None:
        """`verbose` and `usage` are the levels of the session's `/verbose` and `/usage`."""
        self._is_quiet = is_quiet
        """With `--json`, only the result is printed."""
        self._verbose = verbose
        self._usage = usage
        self._thought = ""
        """The unfinished line of reasoning."""
        self._on_terminal = sys.stdout.isatty()
        self._printed = ""
        """The part of the current answer that is on stdout."""
        self._streamed = ""
        """The current answer, as far as this attempt has streamed it."""
        self._is_whole = True
        self._in_line = False
        self._worker = ""
        self._left = ""
        self._tools: dict[str, int] = {}
        self._with_output: set[str] = set()
        """The calls whose output was shown line by line."""
        self._activity = Activity()

    def show(self, event: Event) -> None:
        data = event.data
        if event.type != "thinking.delta":
            self._end_thought()
        match event.type:
            case "thinking.delta":
                self._think(str(data.get("text", "")))
            case "run.started":
                self._started(str(data.get("worker", "")))
            case "run.lost" | "run.released":
                self._left = "worker lost" if event.type == "run.lost" else "worker leaving"
            case "run.waiting" | "model.waiting":
                self.note(_why_waiting(event))
            case "run.steered":
                self.note("a message joined this turn")
            case "text.delta":
                self._stream(self._streamed + str(data.get("text", "")))
            case "model.retried":
                self._restart_answer()
                self.note(
                    f"the model call failed ({data.get('what') or data.get('reason')}), trying again", is_activity=True
                )
            case "run.parked":
                self._end_answer()
                self._worker = ""  # the next worker does not replace a lost one
                self.note("waiting for other sessions", is_activity=True)
            case "tool.started" | "tool.output" | "tool.ended":
                self._show_tool(event)
            case kind if kind.startswith("subagent."):
                for line in self._activity.lines(event):
                    self.note(line, is_activity=True)

    def _show_tool(self, event: Event) -> None:
        data, tool = event.data, event.data.get("tool")
        if event.type == "tool.started":
            self._end_answer()
            self._tools[str(data.get("call"))] = event.at
            if self._verbose != "off" and tool != SPAWN:  # the sub-agent has its own lines
                self.note(" ".join(f"{tool} {data.get('brief', '')} ...".split()), is_activity=True)
        elif self._verbose == "off":
            return
        elif event.type == "tool.output":
            self._with_output.add(str(data.get("call")))
            self.note(f"  {str(data.get('line', '')).rstrip()}", is_activity=True)
        elif tool != SPAWN or data.get("error"):
            took = span(event.at - self._tools.pop(str(data.get("call")), event.at))
            self.note(f"{tool} {'failed' if data.get('error') else 'done'} ({took})", is_activity=True)
            shown_before = str(data.get("call")) in self._with_output
            for line in () if shown_before else str(data.get("result", "")).splitlines():
                self.note(f"  {line}", is_activity=True)

    def mark_gap(self) -> None:
        """Events were missed: stop streaming, because a pause is better than text with a hole."""
        self._is_whole = False

    def note(self, text: str, *, is_activity: bool = False) -> None:
        """Print a line on stderr; activity is left out with `--json`."""
        if is_activity and self._is_quiet:
            return
        if self._on_terminal and sys.stderr.isatty():
            self._break_line()
        text = f"[{printable(text)}]" if not is_activity else f"· {printable(text)}"
        click.echo(click.style(text, dim=True) if has_colour(sys.stderr) else text, err=True)

    def finish(self, text: str | None) -> None:
        """Complete stdout to the committed answer."""
        self._is_whole = True
        self._end_thought()
        if text:
            if not text.startswith(self._printed):
                self._break_line()
                self._printed = ""
            self._stream(text)
        self._break_line()
        for line in self._activity.flush():
            self.note(line, is_activity=True)

    def show_cost(self, run: Run) -> None:
        """After the answer: whether it was cut, whether a fallback model gave it, and its usage if that is on."""
        if run.reason == "length":
            self.note(f"the answer is cut here: {run.model} reached its output limit (maxTokens)", is_activity=True)
        if run.fallback_from:
            why = next(each.description for each in reversed(run.model_attempts) if each.model == run.fallback_from)
            self.note(f"{run.fallback_from} failed ({why}); {run.model} answered instead", is_activity=True)
        if line := usage_line(run, self._usage):
            self.note(line, is_activity=True)

    def _think(self, text: str) -> None:
        *whole, self._thought = (self._thought + text).split("\n")
        for line in whole:
            self.note(f"thinks: {line}", is_activity=True)

    def _end_thought(self) -> None:
        if self._thought.strip():
            self.note(f"thinks: {self._thought}", is_activity=True)
        self._thought = ""

    def _started(self, worker: str) -> None:
        if self._worker:
            self._restart_answer()
            self.note(f"{self._left or 'worker changed'}, resuming on {worker.rpartition('/')[0] or worker}")
        self._worker, self._left, self._is_whole = worker, "", True

    def _restart_answer(self) -> None:
        self._streamed = ""
        self._is_whole = True
        if self._on_terminal:
            self._break_line()
            self._printed = ""

    def _end_answer(self) -> None:
        """The model has finished this answer and runs tools; another answer follows."""
        self._break_line()
        self._printed = self._streamed = ""
        self._is_whole = True

    def _stream(self, text: str) -> None:
        self._streamed = text
        if self._is_quiet or not self._is_whole or self._printed.startswith(text):
            return
        if not text.startswith(self._printed):
            self._break_line()
            self._printed = ""
        self._write(text[len(self._printed) :])
        self._printed = text

    def _write(self, text: str) -> None:
        click.echo(printable(text) if self._on_terminal else text, nl=False)
        self._in_line = not text.endswith("\n")

    def _break_line(self) -> None:
        if self._in_line:
            click.echo()
        self._in_line = False


def _why_waiting(event: Event) -> str:
    data = event.data
    if event.type == "run.waiting":
        return waits_for_place(str(data.get("agent")), str(data.get("place")))
    return f"waiting: {data.get('why')}"
