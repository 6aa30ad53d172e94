"""The sub-agent that a person named by number, label, run id or session key, or by the beginning of an id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.id_prefixes import LAST, PREFIX_CHARS
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.subagents import matching_subagents, spawn_order
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.queries.runs import find_run

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.queries.installation import Installation


@dataclass(frozen=True, slots=True)
class SubagentIndex:
    """Every sub-agent's run on record, oldest first. A run's number is its position, from 1."""

    runs: list[Run]

    @property
    def numbers(self) -> dict[RunId, int]:
        return {run.id: number for number, run in enumerate(self.runs, start=1)}

    def below(self, session: SessionKey | None) -> list[tuple[int, Run]]:
        """The runs below a session, at any depth, with their numbers; without a session, all runs."""
        inside = {session}
        found = []
        for number, run in enumerate(self.runs, start=1):
            # One pass is enough: a parent is always spawned before its children.
            if session is None or run.requester_session_key in inside:
                inside.add(run.session_key)
                found.append((number, run))
        return found

    def find(self, wanted: str) -> Run:
        """The newest run of the sub-agent.

        Raises:
            NotFound: there is none; the hint names the most similar label.
            BadInput: several sub-agents have that label.
        """
        if wanted == LAST and self.runs:
            return self.runs[-1]
        found = matching_subagents(self.runs, wanted) or self._begun(wanted)
        if len(found) > 1:
            numbers = self.numbers
            listed = ", ".join(f"#{numbers[run.id]}" for run in found)
            hint = "name one by its number or run id"
            raise BadInput(f"several sub-agents are called {wanted!r}: {listed}", hint=hint)
        if found:
            return found[0]
        if wanted.isdecimal():
            raise NotFound(f"no sub-agent #{wanted}", hint="`ocw subagents list` shows their numbers")
        guess = did_you_mean(wanted, [run.label for run in self.runs])
        raise NotFound(f"no sub-agent {wanted!r}", hint=guess or "`ocw subagents list` shows the sub-agents")

    def _begun(self, wanted: str) -> list[Run]:
        """The sub-agents whose session key or run id begins so, each by its newest run."""
        if len(wanted) < PREFIX_CHARS:
            return []
        begun = [
            run
            for run in self.runs
            if run.session_key.startswith(wanted)
            or run.session_key.rpartition(":")[2].startswith(wanted)
            or run.id.startswith(f"run-{wanted}")
        ]
        # The newest run of each session wins, because the runs are in order.
        return list({run.session_key: run for run in begun}.values())


def subagent_index(installation: Installation) -> SubagentIndex:
    """Read every run on record. That is slow, but only people ask for numbers, and seldom."""
    children = [run for run in installation.stores.reader.each_run(500) if run.is_child]
    return SubagentIndex(sorted(children, key=spawn_order))


def find_subagent(installation: Installation, wanted: str) -> Run:
    """The newest run of a sub-agent, or the run with that id.

    Raises:
        NotFound: there is none.
        BadInput: several have that label, or the id is not a sub-agent's.
    """
    wanted = replace_surrogates(wanted).strip().removeprefix("#")
    if not wanted.startswith("run-"):
        return subagent_index(installation).find(wanted)
    run = find_run(installation, wanted)
    if not run.is_child:
        raise BadInput(f"{run.id} is not a sub-agent's run", hint=f"`ocw runs show {run.id}` shows it")
    return run
