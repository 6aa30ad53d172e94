"""What a person sees of a turn: its text on stdout as it arrives, everything else dimly on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.output import has_colour, printable, span

if TYPE_CHECKING:
    from openclaw_workers.store.reading import Event


class Screen:
    """Shows one turn. What is left on stdout ends with the committed answer, also when a worker died half-way.

    On a terminal the answer begins anew after a takeover. A pipe cannot be taken back, so there the next attempt is
    held back as long as it repeats what was printed; only if it says something else it begins on a new line.
    """

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        """Programs want the result alone."""
        self._on_terminal = sys.stdout.isatty()
        self._printed = ""
        """Of the model's present answer, what stands on stdout."""
        self._said = ""
        """The present answer as far as this attempt has streamed it."""
        self._is_whole = True
        self._in_line = False
        self._worker = ""
        self._left = ""
        self._tools: dict[str, int] = {}

    def show(self, event: Event) -> None:
        data = event.data
        match event.type:
            case "run.started":
                self._started(str(data.get("worker", "")))
            case "run.lost" | "run.released":
                self._left = "worker lost" if event.type == "run.lost" else "worker leaving"
            case "run.steered":
                self.note("a message joined this turn")
            case "text.delta":
                self._say(self._said + str(data.get("text", "")))
            case "model.retried":
                self._begin_anew()
                self.note(f"the model call failed ({data.get('reason')}), trying again", is_activity=True)
            case "tool.started":
                self._end_answer()
                self._tools[str(data.get("call"))] = event.at
                self.note(" ".join(f"{data.get('tool')} {data.get('brief', '')} ...".split()), is_activity=True)
            case "tool.output":
                self.note(f"  {str(data.get('line', '')).rstrip()}", is_activity=True)
            case "tool.ended":
                took = span(event.at - self._tools.pop(str(data.get("call")), event.at))
                how = "failed" if data.get("error") else "done"
                self.note(f"{data.get('tool')} {how} ({took})", is_activity=True)

    def miss(self) -> None:
        """Events were lost: a hole in the text would be worse than a pause before the rest of it."""
        self._is_whole = False

    def note(self, text: str, *, is_activity: bool = False) -> None:
        """A line on stderr; tool activity is not shown to programs."""
        if is_activity and self._is_quiet:
            return
        if self._on_terminal and sys.stderr.isatty():
            self._break_line()
        text = f"[{printable(text)}]" if not is_activity else f"· {printable(text)}"
        click.echo(click.style(text, dim=True) if has_colour(sys.stderr) else text, err=True)

    def finish(self, text: str | None) -> None:
        """Bring stdout to the committed answer."""
        self._is_whole = True
        if text:
            if not text.startswith(self._printed):
                self._break_line()
                self._printed = ""
            self._say(text)
        self._break_line()

    def _started(self, worker: str) -> None:
        if self._worker:
            self._begin_anew()
            self.note(f"{self._left or 'worker changed'}, resuming on {worker.rpartition('/')[0] or worker}")
        self._worker, self._left, self._is_whole = worker, "", True

    def _begin_anew(self) -> None:
        self._said = ""
        self._is_whole = True
        if self._on_terminal:
            self._break_line()
            self._printed = ""

    def _end_answer(self) -> None:
        """The model's answer is complete and tools run; another one will follow."""
        self._break_line()
        self._printed = self._said = ""
        self._is_whole = True

    def _say(self, said: str) -> None:
        self._said = said
        if self._is_quiet or not self._is_whole or self._printed.startswith(said):
            return
        if not said.startswith(self._printed):
            self._break_line()
            self._printed = ""
        self._write(said[len(self._printed) :])
        self._printed = said

    def _write(self, text: str) -> None:
        click.echo(printable(text) if self._on_terminal else text, nl=False)
        self._in_line = not text.endswith("\n")

    def _break_line(self) -> None:
        if self._in_line:
            click.echo()
        self._in_line = False
