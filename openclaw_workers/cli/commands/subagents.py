"""`ocw subagents`: look at what agents have spawned, talk to it, stop it."""

from __future__ import annotations

import json

import click

from openclaw_workers.cli.commands.subagent_control import retry, send, steer, stop
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import find_session, trees
from openclaw_workers.cli.find.subagents import find_subagent, subagent_index
from openclaw_workers.cli.output import COUNT, echo_json, json_option
from openclaw_workers.cli.render.subagents import subagent_details, subagent_table
from openclaw_workers.cli.render.text import field_list
from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.domain.tree import SpawnMode
from openclaw_workers.errors import NotFound
from openclaw_workers.views.subagents import is_open, subagent_json


@click.group(
    epilog="""\b
Examples:
  ocw subagents list
  ocw subagents info 3
  ocw subagents steer 3 "leave out the tests"
  ocw subagents stop "read the logs"
ID is a number of the list, a label, a run id or a session key; numbers stay as long as records are kept.
"""
)
def subagents() -> None:
    """List sub-agents, talk to them, stop them."""


for command in (send, steer, stop, retry):
    subagents.add_command(command)


@subagents.command("list", epilog="Example: ocw subagents list main --live")
@click.argument("key", required=False)
@click.option("--live", is_flag=True, help="Only those that have not settled, or whose result is not delivered.")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, the newest ones.")
@json_option
@pass_cli
def list_subagents(cli: CliContext, key: str | None, live: bool, limit: int) -> None:
    """List the sub-agents below a session, or all, in the order of spawning."""
    session = find_session(cli, key)[0] if key is not None else None
    known = subagent_index(cli)
    found = known.below(session)
    if not live:
        found = found[-limit:]
    batches = trees(cli).batches(run.batch for _, run in found if run.batch)
    if live:
        found = [each for each in found if is_open(each[1], batches)][-limit:]
    if cli.json:
        listed = [subagent_json(run, batches.get(run.batch) if run.batch else None, number) for number, run in found]
        echo_json({"ok": True, "subagents": listed})
    elif found:
        click.echo(subagent_table(found, batches, known.numbers))
    else:
        click.echo("no sub-agents")


@subagents.command("info", epilog="Example: ocw subagents info 3 --json | jq .delivery")
@click.argument("subagent", metavar="ID")
@json_option
@pass_cli
def show_subagent(cli: CliContext, subagent: str) -> None:
    """Show everything on record about one sub-agent's run."""
    run = find_subagent(cli, subagent)
    batch = cli.stores.tree.batch(run.batch) if run.batch else None
    row = cli.stores.reader.session(run.session_key) if run.spawn_mode is SpawnMode.SESSION else None
    thread = row.last_thread_id if row else None
    if cli.json:
        number = subagent_index(cli).numbers.get(run.id)
        echo_json({"ok": True, **subagent_json(run, batch, number), "threadId": thread})
    else:
        click.echo(field_list([*subagent_details(run, batch), ("thread", thread)]))


@subagents.command("log", epilog="Example: ocw subagents log 3 --limit 20")
@click.argument("subagent", metavar="ID")
@click.option("--limit", type=COUNT, help="Only the newest entries; all otherwise.")
@json_option
@pass_cli
def show_log(cli: CliContext, subagent: str, limit: int | None) -> None:
    """Print a sub-agent's transcript, oldest entry first."""
    run = find_subagent(cli, subagent)
    if cli.stores.reader.session(run.session_key) is None:
        raise NotFound(
            f"the session of {run.label!r} was removed after its result was delivered",
            hint=f"its transcript is in the state directory; `ocw subagents info {run.id}` has the result",
        )
    raws, _ = cli.stores.reader.raw_transcript(run.session_key, -limit if limit else 0)
    if cli.json:
        echo_json([json.loads(raw) for raw in raws])
        return
    for raw in raws:
        click.echo("\n".join(entry_lines(load_entry(raw))))
    if not run.state.is_final:
        click.echo(f"[{run.state}; `ocw runs watch {run.id}` follows it]", err=True)
