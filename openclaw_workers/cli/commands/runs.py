"""`ocw runs`: list, show, watch and stop runs, and show them as trees."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import exit_code_of, report_error, show
from openclaw_workers.cli.output import COUNT, echo_json, json_option, leave, report_left_out
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.runs import run_lines, run_table
from openclaw_workers.cli.render.subagents import tree_details
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.cli.render.trees import tree_summary, tree_text
from openclaw_workers.cli.watch import wait_until_settled, watch_runs, watch_trees
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.errors import ConflictError
from openclaw_workers.queries.run_answers import recent_runs, run_details, runs_answer
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.trees import TreeQuery, trees_answer
from openclaw_workers.store.inbox import Stopped
from openclaw_workers.views.answers import Answer, answer_json


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
    """List, show, watch and stop runs; show them as trees."""


@runs.command("list", epilog="Example: ocw runs list --session main --state error --limit 5")
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many, newest first.")
@click.option("--session", metavar="KEY", help="Only runs of this session.")
@click.option("--state", type=click.Choice([state.value for state in RunState]), help="Only runs in this state.")
@json_option
@pass_cli
def list_runs(cli: CliContext, limit: int, session: str | None, state: str | None) -> None:
    """List runs, newest first."""
    found = recent_runs(cli, limit, session=session, state=state)
    if cli.json:
        echo_json(runs_answer(cli, found))
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
    """Show one run: its workers, its place in the tree, and what it did up to its end or failure."""
    found = run_details(cli, run_id)
    if cli.json:
        echo_json({"ok": True, **found.as_json()})
        return
    run = found.run
    spawned = [(f"child {number}", _child(each)) for number, each in enumerate(found.children, start=1)]
    partial = run.partial if run.partial and not found.journal else None
    click.echo(field_list([*run_lines(run), *tree_details(run, found.batch), *spawned, ("partial", partial)]))
    _print_journal(run, found.journal, found.fate, is_archived=found.is_archived)


def _child(run: Run) -> str:
    return f"{run.id} {run.label!r}, {run.state}"


def _print_journal(run: Run, journal: list[TranscriptEntry], fate: str, *, is_archived: bool) -> None:
    gone = {"anew": "its session was reset since", "deleted": "its session was deleted"}.get(fate, "")
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
  ocw runs watch                            all active runs, until Ctrl-C
  ocw runs watch run-0123456789abcdef       one run, from its beginning to its end
""",
)
@click.argument("run_id", metavar="[RUN]", required=False)
@json_option
@pass_cli
def watch_run(cli: CliContext, run_id: str | None) -> None:
    """Follow one run to its end, or all active runs."""
    if run_id is None:
        watch_runs(cli)
        return
    answer = _follow(cli, find_run(cli, run_id), is_quiet=cli.json)
    if cli.json:
        echo_json(answer_json(answer))
    else:
        report_error(answer)
    leave(exit_code_of(answer))


def _follow(cli: CliContext, run: Run, *, is_quiet: bool) -> Answer:
    return show(cli, Conversation(run.session_key, run=run.id), AnswerStream(is_quiet=is_quiet))


@runs.command(
    "tree",
    epilog="""\b
Examples:
  ocw runs tree                             all active trees, or else the last one
  ocw runs tree --watch                     the same, live, until Ctrl-C
  ocw runs tree main --watch                the trees of one session, until they have settled
  ocw runs tree run-0123456789abcdef --json
""",
)
@click.argument("of", metavar="[RUN | KEY]", required=False)
@click.option("--watch", is_flag=True, help="Show each change; ends when a named tree has settled.")
@click.option("--limit", type=COUNT, default=5, show_default=True, help="How many settled trees of KEY.")
@json_option
@pass_cli
def run_tree(cli: CliContext, of: str | None, watch: bool, limit: int) -> None:
    """Show runs as trees: state, lane, host, age, tokens and cost of each sub-agent."""
    query = TreeQuery(cli, of, limit)
    if watch:
        watch_trees(cli, query)
        return
    roots = query.read()
    if cli.json:
        echo_json(trees_answer(cli, roots))
    elif roots:
        click.echo(f"{tree_text(roots)}\n\n{tree_summary(roots)}")
    else:
        click.echo('no runs; `ocw agent -m "ask three sub-agents to count to 3, 5 and 8 slowly"` makes a tree')
    report_left_out(cli.stores.reader.unreadable)


@runs.command("stop", epilog="Example: ocw runs stop run-0123456789abcdef --wait")
@click.argument("run_id", metavar="RUN")
@click.option("--wait", "and_wait", is_flag=True, help="Return when the run and what it spawned have ended.")
@json_option
@pass_cli
def stop_run(cli: CliContext, run_id: str, and_wait: bool) -> None:
    """Stop one run and what it has spawned. Messages that wait behind it are still answered."""
    run = find_run(cli, run_id)
    stopped = cli.control.stop_run(run.id)
    if stopped.run is None:
        run = find_run(cli, run_id)
        why = f"had already ended ({run.state})" if run.state.is_final else "is not the active run of its session"
        raise ConflictError(f"{run.id} {why}; nothing was stopped", hint=f"`ocw runs show {run.id}` shows details")
    if and_wait:
        _follow(cli, run, is_quiet=True)
        spawned = [each.id for each in cli.stores.reader.some_runs(stopped.live) if each.parent_run_id == run.id]
        wait_until_settled(cli, spawned)
    state = find_run(cli, run_id).state
    if cli.json:
        counts = {"cancelledMessages": stopped.cancelled, "stoppedSubagents": stopped.children}
        echo_json({"ok": True, "runId": run.id, "sessionKey": run.session_key, "state": state, **counts})
    else:
        click.echo(_stop_line(run, state, stopped, has_waited=and_wait))


def _stop_line(run: Run, state: RunState, stopped: Stopped, *, has_waited: bool) -> str:
    """`run` is the run before the stop, `state` its state after it."""
    many = "1 sub-agent is" if stopped.children == 1 else f"{stopped.children} sub-agents are"
    if run.state.is_final:
        return f"{run.id} had ended; {many} {'stopped' if has_waited or not stopped.begun else 'stopping'}"
    if state.is_final:
        return f"{run.id} has ended ({state})" + (f"; {many} stopped" if stopped.children else "")
    return f"{run.id} is stopping; its worker ends it within two seconds"
