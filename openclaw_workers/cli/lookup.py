"""Finding the session or run that a person named, or saying which one they may have meant."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from openclaw_workers.engine.addressing import named_session
from openclaw_workers.errors import BadInput, CorruptRecord, NotFound
from openclaw_workers.models.ids import RunId, SessionKey
from openclaw_workers.models.text import encodable
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.trees import Trees

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.models.runs import Run
    from openclaw_workers.models.session import SessionEntry

RECENT_RUNS = 500


def overview(cli: CliContext) -> Overview:
    return Overview(cli.stores.redis, cli.stores.keys)


def trees(cli: CliContext) -> Trees:
    return Trees(cli.stores.redis, cli.stores.keys, cli.stores.reader)


def named_key(cli: CliContext, wanted: str) -> SessionKey:
    """The key that a person named. Nothing is no name here, as it is where one writes to an agent: a shell variable
    that is not set must not delete the main session.

    Raises:
        BadInput: nothing is named, or it fits no form.
    """
    if not wanted.strip():
        raise BadInput("the KEY of a session is empty", hint="`ocw sessions list` shows the sessions there are")
    return named_session(wanted, cli.sorting)


def find_session(cli: CliContext, wanted: str) -> tuple[SessionKey, SessionEntry]:
    """The session of that name, also of an agent that is no longer configured.

    Raises:
        BadInput: nothing is named, or it fits no form.
        NotFound: with the nearest key there is.
        CorruptRecord: it is there, but its row cannot be read.
    """
    key = named_key(cli, wanted)
    row = cli.stores.reader.session(key)
    if row is not None:
        return key, row
    known = overview(cli).session_keys()
    if key in known:
        raise CorruptRecord(f"session {key}", "it was set aside; `ocw sessions delete` removes what is left")
    raise NotFound(f"no session {key}", hint=_nearest(key, known) or "`ocw sessions list` shows the sessions there are")


def find_run(cli: CliContext, wanted: str) -> Run:
    """The run of that id.

    Raises:
        NotFound: with the nearest recent one.
        CorruptRecord: it is there, but cannot be read.
    """
    wanted = encodable(wanted)
    run_id = RunId(wanted if wanted.startswith("run-") else f"run-{wanted}")
    run = cli.stores.reader.run(run_id)
    if run is None:
        damaged = [note["why"] for note in cli.stores.reader.quarantined() if note["where"] == f"run {run_id}"]
        if damaged:
            raise CorruptRecord(f"run {run_id}", damaged[0])
        recent = [run.id for run in islice(cli.stores.reader.each_run(), RECENT_RUNS)]
        raise NotFound(f"no run {run_id}", hint=_nearest(run_id, recent) or "`ocw runs list` shows recent runs")
    return run


def _nearest(wanted: str, known: list[SessionKey] | list[RunId]) -> str | None:
    near = get_close_matches(wanted, known, n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else None
