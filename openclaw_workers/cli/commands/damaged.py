"""`ocw status --damaged`: quarantined records, and what to do about them."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import echo_json
from openclaw_workers.cli.render.text import age, printable

ADVICE = """\
Everything else goes on without them, and a damaged session answers its next message.
Session: `ocw sessions reset KEY` begins it anew at once, `ocw sessions delete KEY` removes it.
Run: `ocw sessions history KEY` still shows what it did; a run that has ended leaves the lists within 7 days.
What a record held is in `raw` with --json; what was moved to another key is kept there for 30 days."""


def list_damaged(cli: CliContext) -> None:
    """Print one note per damaged record, newest first."""
    notes = cli.stores.reader.quarantined()
    if cli.json:
        echo_json({"ok": True, "damaged": notes})
        return
    for note in notes:
        click.echo(f"{printable(note['where'])} ({age(note['at'])})\n  {printable(note['why'])}")
    click.echo(f"\n{ADVICE}" if notes else "no damaged records")
