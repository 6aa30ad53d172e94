"""The run that a person named."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.sessions import damage_of

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.queries.installation import Installation

RECENT_RUNS = 500


def find_run(place: Installation, wanted: str) -> Run:
    """The run with that id; `run-` in front of it may be left out.

    Raises:
        NotFound: there is none; the hint names the most similar recent one.
        CorruptRecord: its record is damaged.
    """
    wanted = replace_surrogates(wanted)
    run_id = RunId(wanted if wanted.startswith("run-") else f"run-{wanted}")
    run = place.stores.reader.run(run_id)
    if run is not None:
        return run
    if place.overview.has_run(run_id):
        raise damage_of(place, f"run {run_id}", hint="`ocw status --damaged` says what to do")
    recent = [run.id for run in islice(place.stores.reader.each_run(), RECENT_RUNS)]
    guess = did_you_mean(run_id, recent, cutoff=0.8)
    raise NotFound(f"no run {run_id}", hint=guess or "`ocw runs list` shows recent runs")
