"""A turn as it arrives: its text, and a line for everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from openclaw_workers.cli.render.activity import Activity, awaited
from openclaw_workers.cli.render.standard_output import StandardOutput
from openclaw_workers.cli.render.text import printable, span
from openclaw_workers.client.follow_message import waits_for_place
from openclaw_workers.domain.usage_line import usage_line

if TYPE_CHECKING:
    from openclaw_workers.cli.render.turn_status import TurnStatus
    from openclaw_workers.domain.events import Event
    from openclaw_workers.domain.runs import Run

SPAWN = "sessions_spawn"


class Output(Protocol):
    """Where a turn is shown."""

    @property
    def is_terminal(self) -> bool:
        """Text that was written cannot be withdrawn, but a person sees where it begins again."""

    def write(self, text: str) -> None:
        """A piece of the answer."""

    def end_text(self) -> None:
        """The answer is complete, or begins again."""

    def line(self, text: str) -> None:
        """Something beside the answer."""

    def close(self) -> None: ...


class AnswerStream:
    """Shows one turn. What is written ends with the committed answer, even if a worker died half-way.

    After a takeover a terminal shows the answer again from the start. Text in a pipe cannot be withdrawn. There
    the next attempt is printed from where it goes beyond the printed text, or on a new line if it differs.
    """

    def __init__(
        self,
        *,
        is_quiet: bool = False,
        verbose: str = "on",
        usage: str = "off",
        output: Output | None = None,
        status: TurnStatus | None = None,
    ) -> None:
        """`verbose` and `usage` are the levels of the session's `/verbose` and `/usage`."""
        self._output = output or StandardOutput()
        self._status = status
        self._is_quiet = is_quiet
        """With `--json`, only the result is printed."""
        self._verbose = verbose
        self._usage = usage
        self._thought = ""
        """The unfinished line of reasoning."""
        self._printed = ""
        """The part of the current answer that was written."""
        self._streamed = ""
        """The current answer, as far as this attempt has streamed it."""
        self._is_whole = True
        self._worker = ""
        self._left = ""
        self._tools: dict[str, int] = {}
        self._with_output: set[str] = set()
        """The calls whose output was shown line by line."""
        self._activity = Activity()
        self._question = ""
        """What the run asked people, until it waits for them."""

    def show(self, event: Event) -> None:
        if self._status is not None:
            self._status.show(event)
        self._show(event)

    def _show(self, event: Event) -> None:
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
            case "run.parked" | "question.asked":
                self._show_wait(event)
            case "tool.started" | "tool.output" | "tool.ended":
                self._show_tool(event)
            case kind if kind.startswith("subagent."):
                for line in self._activity.lines(event):
                    self.note(line, is_activity=True)

    def _show_wait(self, event: Event) -> None:
        if event.type == "question.asked":
            asked = " ".join(str(event.data.get("command") or event.data.get("text", "")).split())
            self._question = f": {asked} (`ocw approvals list` shows how to answer)"
            return
        self._end_answer()
        self._worker = ""  # the next worker does not replace a lost one
        self.note(f"waiting for {awaited(event)}{self._question}", is_activity=True)
        self._question = ""

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
            # The result repeats what was shown while the tool ran.
            shown_before = str(data.get("call")) in self._with_output
            for line in () if shown_before else str(data.get("result", "")).splitlines():
                self.note(f"  {line}", is_activity=True)

    def wait_for(self, what: str) -> None:
        """Nothing has happened yet."""
        if self._status is not None:
            self._status.wait_for(what)

    def close(self) -> None:
        """Stop saying what is waited for; what comes later is still shown."""
        self._output.close()

    def mark_gap(self) -> None:
        """Events were missed: stop streaming, because a pause is better than text with a hole."""
        self._is_whole = False

    def note(self, text: str, *, is_activity: bool = False) -> None:
        """Show a line beside the answer; activity is left out with `--json`."""
        if is_activity and self._is_quiet:
            return
        self._output.line(f"· {printable(text)}" if is_activity else f"[{printable(text)}]")

    def finish(self, text: str | None) -> None:
        """Complete the text to the committed answer."""
        self._is_whole = True
        if self._status is not None:
            self._status.end()
        self._end_thought()
        if text:
            if not text.startswith(self._printed):
                self._output.end_text()
                self._printed = ""
            self._stream(text)
        self._output.end_text()
        for line in self._activity.flush():
            self.note(line, is_activity=True)
        self.close()

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
        # In a pipe, the printed text stays and the next attempt continues it.
        if self._output.is_terminal:
            self._output.end_text()
            self._printed = ""

    def _end_answer(self) -> None:
        """The model has finished this answer and runs tools; another answer follows."""
        self._output.end_text()
        self._printed = self._streamed = ""
        self._is_whole = True

    def _stream(self, text: str) -> None:
        self._streamed = text
        if self._is_quiet or not self._is_whole or self._printed.startswith(text):
            return
        if not text.startswith(self._printed):
            self._output.end_text()
            self._printed = ""
        self._output.write(text[len(self._printed) :])
        self._printed = text


def _why_waiting(event: Event) -> str:
    data = event.data
    if event.type == "run.waiting":
        return waits_for_place(str(data.get("agent")), str(data.get("place")))
    return f"waiting: {data.get('why')}"
