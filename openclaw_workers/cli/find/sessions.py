"""Finding the session or run that a person named, or saying which one they may have meant."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

import click

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.engine.routing.addressing import named_session
from openclaw_workers.errors import BadInput, CorruptRecord, NotFound
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.tree_queries import Trees

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.runs import Run
    from openclaw_workers.domain.session_row import SessionEntry

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


def find_key(cli: CliContext, wanted: str) -> SessionKey:
    """The session of that name, also if it cannot be read: that must not keep anyone from ending it.

    Raises:
        BadInput, NotFound: as for `find_session`.
    """
    key = named_key(cli, wanted)
    return key if overview(cli).is_listed(key) else find_session(cli, wanted)[0]


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
    if overview(cli).is_listed(key):
        raise _damaged(f"session {key}", cli, hint=f"`ocw sessions reset {key}` begins it anew, `delete` removes it")
    near = _nearest(key, overview(cli).session_keys())
    raise NotFound(f"no session {key}", hint=near or "`ocw sessions list` shows the sessions there are")


def find_run(cli: CliContext, wanted: str) -> Run:
    """The run of that id.

    Raises:
        NotFound: with the nearest recent one.
        CorruptRecord: it is there, but cannot be read.
    """
    wanted = replace_surrogates(wanted)
    run_id = RunId(wanted if wanted.startswith("run-") else f"run-{wanted}")
    run = cli.stores.reader.run(run_id)
    if run is None:
        if overview(cli).has_run(run_id):
            raise _damaged(f"run {run_id}", cli, hint="`ocw status --damaged` tells what to do")
        recent = [run.id for run in islice(cli.stores.reader.each_run(), RECENT_RUNS)]
        raise NotFound(f"no run {run_id}", hint=_nearest(run_id, recent) or "`ocw runs list` shows recent runs")
    return run


def tell_left_out(count: int) -> None:
    """Say on stderr that what was listed is not all there is."""
    if count:
        told = f"{count} damaged record{' was' if count == 1 else 's were'} left out and set aside"
        click.echo(f"{told}; `ocw status --damaged` lists them", err=True)


def _damaged(where: str, cli: CliContext, *, hint: str) -> CorruptRecord:
    told = [note["why"] for note in cli.stores.reader.quarantined() if note["where"] == where]
    return CorruptRecord(where, told[0] if told else "its record is gone", hint=hint)


def _nearest(wanted: str, known: list[SessionKey] | list[RunId]) -> str | None:
    near = get_close_matches(wanted, known, n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else None
