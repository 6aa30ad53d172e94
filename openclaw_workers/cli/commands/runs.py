"""`ocw runs`: list, show, watch and stop runs, and show them as trees."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import exit_code_of, report_error, show
from openclaw_workers.cli.output import COUNT, echo_json, json_option, leave, report_left_out
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.runs import is_final, journal_lines, run_lines, run_table
from openclaw_workers.cli.render.subagents import tree_details
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.trees import tree_summary, tree_text
from openclaw_workers.cli.watch import wait_until_settled, watch_runs, watch_trees
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import RunState
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
    answer = cli.backend.runs(limit, session, state)
    if cli.json:
        echo_json(answer)
    elif answer["runs"]:
        click.echo(run_table(answer["runs"]))
    else:
        click.echo("no runs")
    report_left_out(answer["unreadable"])


@runs.command("show", epilog="Example: ocw runs show run-0123456789abcdef --json")
@click.argument("run_id", metavar="RUN")
@json_option
@pass_cli
def show_run(cli: CliContext, run_id: str) -> None:
    """Show one run: its workers, its place in the tree, and what it did up to its end or failure."""
    run = cli.backend.run(run_id)
    if cli.json:
        echo_json(run)
        return
    spawned = [(f"child {number}", _child(each)) for number, each in enumerate(run["childRuns"], start=1)]
    partial = run["partial"] if run["partial"] and not run["journal"] else None
    click.echo(field_list([*run_lines(run), *tree_details(run), *spawned, ("partial", partial)]))
    _print_journal(run)


def _child(run: dict[str, Any]) -> str:
    return f"{run['runId']} {run['label'] or ''!r}, {run['state']}"


def _print_journal(run: dict[str, Any]) -> None:
    gone = {"reset": "its session was reset since", "deleted": "its session was deleted"}.get(run["sessionState"], "")
    if run["journal"]:
        click.echo(f"\njournal ({gone}; this is from its archive)" if run["archived"] else "\njournal")
        for line in journal_lines(run):
            click.echo(line)
    elif run["text"]:
        click.echo(f"\nanswer{f' ({gone})' if gone else ''}\n{printable(run['text'])}")
    elif gone and not run["journalProblem"]:
        click.echo(f"\nno journal: {gone}, and no host has its archive")
    if problem := run["journalProblem"]:
        click.echo(f"\nno journal: {'; '.join(filter(None, [problem['message'], problem['hint']]))}")


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
    answer = _follow(cli, cli.backend.run(run_id), is_quiet=cli.json)
    if cli.json:
        echo_json(answer_json(answer))
    else:
        report_error(answer)
    leave(exit_code_of(answer))


def _follow(cli: CliContext, run: dict[str, Any], *, is_quiet: bool) -> Answer:
    conversation = Conversation(SessionKey(run["sessionKey"]), run=RunId(run["runId"]))
    return show(cli, conversation, AnswerStream(is_quiet=is_quiet))


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
    if watch:
        watch_trees(cli, of, limit)
        return
    answer = cli.backend.trees(of, limit)
    roots = answer["trees"]
    if cli.json:
        echo_json(answer)
    elif roots:
        click.echo(f"{tree_text(roots)}\n\n{tree_summary(roots)}")
    else:
        click.echo('no runs; `ocw agent -m "ask three sub-agents to count to 3, 5 and 8 slowly"` makes a tree')
    report_left_out(answer["unreadable"])


@runs.command("stop", epilog="Example: ocw runs stop run-0123456789abcdef --wait")
@click.argument("run_id", metavar="RUN")
@click.option("--wait", "and_wait", is_flag=True, help="Return when the run and what it spawned have ended.")
@json_option
@pass_cli
def stop_run(cli: CliContext, run_id: str, and_wait: bool) -> None:
    """Stop one run and what it has spawned. Messages that wait behind it are still answered."""
    run = cli.backend.run(run_id)
    answer = cli.backend.stop_run(run["runId"])
    if and_wait:
        _follow(cli, run, is_quiet=True)
        wait_until_settled(cli, run["children"])
        answer["state"] = cli.backend.run(run_id)["state"]
    if cli.json:
        echo_json(answer)
    else:
        click.echo(_stop_line(run, answer, has_waited=and_wait))


def _stop_line(run: dict[str, Any], stopped: dict[str, Any], *, has_waited: bool) -> str:
    """`run` is the run before the stop."""
    children = stopped["stoppedSubagents"]
    many = "1 sub-agent is" if children == 1 else f"{children} sub-agents are"
    if is_final(run):
        return f"{run['runId']} had ended; {many} {'stopped' if has_waited or not stopped['begun'] else 'stopping'}"
    if is_final(stopped):
        return f"{run['runId']} has ended ({stopped['state']})" + (f"; {many} stopped" if children else "")
    return f"{run['runId']} is stopping; its worker ends it within two seconds"
