"""The run that a person named."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.id_prefixes import LAST, PREFIX_CHARS
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.queries.sessions import damage_of

if TYPE_CHECKING:
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.queries.installation import Installation

RECENT_RUNS = 500


def find_run(installation: Installation, wanted: str) -> Run:
    """The run with that id, or with an id that begins so; `run-` in front may be left out. `last` is the newest run.

    Raises:
        NotFound: there is none; the hint names the most similar recent one.
        BadInput: the ids of several recent runs begin so.
        CorruptRecord: its record is damaged.
    """
    # An argument that is not UTF-8 can be neither encoded for Redis nor printed.
    wanted = replace_surrogates(wanted)
    if wanted == LAST:
        return _last(installation)
    run_id = RunId(wanted if wanted.startswith("run-") else f"run-{wanted}")
    run = installation.stores.reader.run(run_id)
    if run is not None:
        return run
    # It exists but cannot be read: "not found" would hide the damage.
    if installation.overview.has_run(run_id):
        raise damage_of(installation, f"run {run_id}", hint="`ocw status --damaged` says what to do")
    recent = [run.id for run in islice(installation.stores.reader.each_run(), RECENT_RUNS)]
    # Only among recent runs: a search of all records would grow with the installation.
    begun = [each for each in recent if each.startswith(run_id)]
    if begun and len(run_id) < len("run-") + PREFIX_CHARS:
        hint = f"{len(begun)} begin so; write at least {PREFIX_CHARS} characters after run-"
        raise NotFound(f"no run {run_id}", hint=hint)
    if len(begun) > 1:
        raise BadInput(f"several runs begin with {run_id}: {', '.join(begun[:5])}", hint="write more of the id")
    if begun:
        return find_run(installation, begun[0])
    guess = did_you_mean(run_id, recent, cutoff=0.8)
    raise NotFound(f"no run {run_id}", hint=guess or "`ocw runs list` shows recent runs")


def _last(installation: Installation) -> Run:
    newest = next(iter(installation.stores.reader.each_run()), None)
    if newest is None:
        raise NotFound("there is no run yet", hint='`ocw agent "hello"` starts one')
    return newest
