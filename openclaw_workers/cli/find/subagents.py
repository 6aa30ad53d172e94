"""Finding the sub-agent a person means: by number, label, run id or session key."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from openclaw_workers.cli.find.sessions import find_run
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.errors import BadInput, NotFound

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.runs import Run


@dataclass(frozen=True, slots=True)
class SubagentIndex:
    """Every sub-agent's run on record, in the order of spawning; its place is its number."""

    runs: list[Run]

    @property
    def numbers(self) -> dict[RunId, int]:
        return {run.id: number for number, run in enumerate(self.runs, start=1)}

    def below(self, session: SessionKey | None) -> list[tuple[int, Run]]:
        """Those that came of a session, at any depth; all without one."""
        inside = {session}
        found = []
        for number, run in enumerate(self.runs, start=1):
            if session is None or run.requester_session_key in inside:
                inside.add(run.session_key)
                found.append((number, run))
        return found

    def find(self, wanted: str) -> Run:
        """
        Raises:
            NotFound: nothing of that name, with the nearest label.
            BadInput: several sub-agents have that label.
        """
        if wanted.isdecimal():
            if not 1 <= int(wanted) <= len(self.runs):
                raise NotFound(f"no sub-agent #{wanted}", hint="`ocw subagents list` shows their numbers")
            return self.runs[int(wanted) - 1]
        named = [run for run in self.runs if wanted in (run.session_key, run.label)]
        named = named or [run for run in self.runs if run.label.lower() == wanted.lower()]
        named = [run for run in named if run.settled_at is None] or named
        if len({run.session_key for run in named}) > 1:
            numbers = self.numbers
            told = ", ".join(f"#{numbers[run.id]}" for run in named)
            raise BadInput(f"several sub-agents are called {wanted!r}: {told}", hint="name one by its number or run id")
        if not named:
            near = get_close_matches(wanted, [run.label for run in self.runs], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`ocw subagents list` shows the sub-agents there are"
            raise NotFound(f"no sub-agent {wanted!r}", hint=hint)
        return named[-1]


def spawned_at(run: Run) -> tuple[int, int, int, str]:
    """By time; those of one message, whatever their batches, in the order of its calls."""
    return run.queued_at, run.spawn_seq, run.batch_index, run.id


def register(cli: CliContext) -> SubagentIndex:
    """Reads every run on record; numbers are for people, who look seldom."""
    children = [run for run in cli.stores.reader.each_run(500) if run.is_child]
    return SubagentIndex(sorted(children, key=spawned_at))


def find_subagent(cli: CliContext, wanted: str) -> Run:
    """The run that is meant; of a session with several, the last one.

    Raises:
        NotFound, BadInput: there is none of that name, or more than one.
    """
    wanted = replace_surrogates(wanted).strip().removeprefix("#")
    if not wanted.startswith("run-"):
        return register(cli).find(wanted)
    run = find_run(cli, wanted)
    if not run.is_child:
        raise BadInput(f"{run.id} is no sub-agent's run", hint=f"`ocw runs show {run.id}` shows it")
    return run
