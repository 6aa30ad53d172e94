"""`ocw runs`: list, inspect, watch and stop; `run_tree` shows them as trees."""

from __future__ import annotations

import json
from itertools import islice

import click

from openclaw_workers.cli.commands.run_tree import run_tree
from openclaw_workers.cli.commands.subagent_control import wait_settled
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import exit_code_of, report_error, show
from openclaw_workers.cli.find.sessions import find_run, find_session, report_left_out
from openclaw_workers.cli.output import COUNT, echo_json, json_option, leave
from openclaw_workers.cli.render.run_list import watch_all
from openclaw_workers.cli.render.runs import run_details, run_table
from openclaw_workers.cli.render.screen import Screen
from openclaw_workers.cli.render.subagents import tree_details
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines, life_of, of_archived_run, of_run
from openclaw_workers.client.conversation import Conversation
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import dump_entry
from openclaw_workers.errors import ConflictError
from openclaw_workers.store.inbox import Stopped
from openclaw_workers.views.answers import Answer, answer_json
from openclaw_workers.views.runs import pick, run_json
from openclaw_workers.views.subagents import delivery_json


@click.group(
    epilog="""\b
Examples:
  ocw runs list --state running
  ocw runs show run-0123456789abcdef
  ocw runs watch
  ocw runs tree --watch
  ocw runs stop run-0123456789abcdef --wait
"""
)
def runs() -> None:
    """List, inspect, watch and stop runs; show them as trees."""


runs.add_command(run_tree)


@runs.command("list", epilog="Example: ocw runs list --session main --state error --limit 5")
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many, newest first.")
@click.option("--session", metavar="KEY", help="Only runs of this session.")
@click.option("--state", type=click.Choice([state.value for state in RunState]), help="Only runs in this state.")
@json_option
@pass_cli
def list_runs(cli: CliContext, limit: int, session: str | None, state: str | None) -> None:
    """List runs, newest first."""
    key = find_session(cli, session)[0] if session is not None else None
    wanted = (
        run
        for run in cli.stores.reader.each_run()
        if (key is None or run.session_key == key) and (state is None or run.state == state)
    )
    found = list(islice(wanted, limit))
    if cli.json:
        listed = [run_json(run) for run in found]
        echo_json({"ok": True, "runs": listed, "unreadable": cli.stores.reader.unreadable})
    elif found:
        click.echo(run_table(found))
    else:
        click.echo("no runs")
    report_left_out(cli.stores.reader.unreadable)


@runs.command("show", epilog="Example: ocw runs show run-0123456789abcdef --json")
@click.argument("run_id", metavar="RUN")
@json_option
@pass_cli
def show_run(cli: CliContext, run_id: str) -> None:
    """Show one run: who carried it, where it stands in its tree, what it did up to its end or failure."""
    run = find_run(cli, run_id)
    journal, life = of_run(cli.stores.reader, run), life_of(cli.stores.reader, run)
    is_archived = not journal and life != "live"
    if is_archived:
        journal = of_archived_run(cli.loaded.state_dir, run)
    children = [each for each in cli.stores.tree.children(run.session_key) if each.parent_run_id == run.id]
    batch = cli.stores.tree.batch(run.batch) if run.batch else None
    if cli.json:
        tree = {"delivery": delivery_json(batch), "children": [each.id for each in children]}
        entries = [json.loads(dump_entry(entry)) for entry in journal]
        echo_json(
            {"ok": True, **run_json(run), **tree, "sessionLife": life, **pick(run, ["partial"]), "journal": entries}
        )
        return
    spawned = [(f"child {number}", _child(each)) for number, each in enumerate(children, start=1)]
    partial = run.partial if run.partial and not journal else None
    click.echo(field_list([*run_details(run), *tree_details(run, batch), *spawned, ("partial", partial)]))
    gone = {"anew": "its session has begun anew since", "deleted": "its session was deleted"}.get(life, "")
    if journal:
        click.echo(f"\njournal ({gone}; this is from its archive)" if is_archived else "\njournal")
        for entry in journal:
            click.echo("\n".join(f"  {line}" for line in entry_lines(entry)))
    elif run.text:
        click.echo(f"\nanswer{f' ({gone})' if gone else ''}\n{printable(run.text)}")
    elif gone:
        click.echo(f"\nno journal: {gone}, and its archive is not on this machine")


@runs.command(
    "watch",
    epilog="""\b
Examples:
  ocw runs watch                            what is running now, until Ctrl-C
  ocw runs watch run-0123456789abcdef       one run, from its beginning to its end
""",
)
@click.argument("run_id", metavar="[RUN]", required=False)
@json_option
@pass_cli
def watch_run(cli: CliContext, run_id: str | None) -> None:
    """Follow one run to its end, or all that are running."""
    if run_id is None:
        watch_all(cli)
        return
    _finish(cli, _followed(cli, find_run(cli, run_id), is_quiet=cli.json))


@runs.command("stop", epilog="Example: ocw runs stop run-0123456789abcdef --wait")
@click.argument("run_id", metavar="RUN")
@click.option("--wait", "and_wait", is_flag=True, help="Return when it has ended, and what it spawned.")
@json_option
@pass_cli
def stop_run(cli: CliContext, run_id: str, and_wait: bool) -> None:
    """Stop one run and what it has spawned; what waits behind it, and what other runs have spawned, goes on."""
    run = find_run(cli, run_id)
    stopped = cli.control.stop_run(run.id)
    if stopped.run is None:
        run = find_run(cli, run_id)
        told = f"had already ended ({run.state})" if run.state.is_final else "is not what its session is doing now"
        raise ConflictError(f"{run.id} {told}; nothing was stopped", hint=f"`ocw runs show {run.id}` tells more")
    if and_wait:
        _followed(cli, run, is_quiet=True)
        spawned = [each.id for each in cli.stores.reader.some_runs(stopped.live) if each.parent_run_id == run.id]
        wait_settled(cli, spawned)
    state = find_run(cli, run_id).state
    if cli.json:
        done = {"state": state, "cancelledMessages": stopped.cancelled, "stoppedSubagents": stopped.children}
        echo_json({"ok": True, "runId": run.id, "sessionKey": run.session_key, **done})
    elif run.state.is_final:
        is_over = and_wait or not stopped.begun
        click.echo(f"{run.id} had ended; {_many(stopped)} {'stopped' if is_over else 'told to stop'}")
    elif state.is_final:
        click.echo(f"{run.id} has ended ({state})" + (f"; {_many(stopped)} stopped" if stopped.children else ""))
    else:
        click.echo(f"{run.id} is told to stop; its worker ends it within two seconds")


def _many(stopped: Stopped) -> str:
    return "1 sub-agent is" if stopped.children == 1 else f"{stopped.children} sub-agents are"


def _child(run: Run) -> str:
    return f"{run.id} {run.label!r}, {run.state}"


def _followed(cli: CliContext, run: Run, *, is_quiet: bool) -> Answer:
    return show(cli, Conversation(run.session_key, run=run.id), Screen(is_quiet=is_quiet))


def _finish(cli: CliContext, answer: Answer) -> None:
    if cli.json:
        echo_json(answer_json(answer))
    else:
        report_error(answer)
    leave(exit_code_of(answer))
