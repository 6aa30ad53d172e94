"""`ocw status --damaged`: records that were set aside, and what to do about them."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import age, echo_json, printable

ADVICE = """\
Everything else goes on without them.
Session: `ocw sessions reset KEY` begins it anew at once, `ocw sessions delete KEY` removes it.
Run: `ocw sessions history KEY` still shows what it did; a run that has ended leaves the lists within 7 days.
What a record held is in `raw` with --json."""


def tell_damaged(cli: CliContext) -> None:
    """List the notes, the latest first."""
    notes = cli.stores.reader.quarantined()
    if cli.json:
        echo_json({"ok": True, "damaged": notes})
        return
    for note in notes:
        click.echo(f"{printable(note['where'])} ({age(note['at'])})\n  {printable(note['why'])}")
    click.echo(f"\n{ADVICE}" if notes else "no damaged records")
