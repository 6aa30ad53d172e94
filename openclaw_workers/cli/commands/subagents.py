"""`ocw subagents`: list and show sub-agents, send them messages, stop them."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from openclaw_workers.cli.backend.protocol import OutgoingText
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import answer_stream_for, exit_code_of, report_error, send_message, show
from openclaw_workers.cli.keyboard import check_argument, read_stdin
from openclaw_workers.cli.output import COUNT, echo_json, json_option, leave
from openclaw_workers.cli.render.runs import is_final
from openclaw_workers.cli.render.subagents import subagent_details, subagent_table
from openclaw_workers.cli.render.text import field_list, printable
from openclaw_workers.cli.render.transcripts import entry_lines, entry_of
from openclaw_workers.cli.watch import wait_until_settled
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import SessionKey, new_message_id
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import RunState
from openclaw_workers.views.answers import Answer, answer_json, rejection


@click.group(
    epilog="""\b
Examples:
  ocw subagents list
  ocw subagents info 3
  ocw subagents steer 3 "leave out the tests"
  ocw subagents stop "read the logs"
ID is a number from the list, a label, a run id or a session key. Numbers change when old records expire.
"""
)
def subagents() -> None:
    """List sub-agents, send them messages, stop them."""


@subagents.command("list", epilog="Example: ocw subagents list main --live")
@click.argument("key", required=False)
@click.option("--live", is_flag=True, help="Only those that are active, or whose result is not delivered.")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, the newest ones.")
@json_option
@pass_cli
def list_subagents(cli: CliContext, key: str | None, live: bool, limit: int) -> None:
    """List the sub-agents below a session, or all, oldest first."""
    answer = cli.backend.subagents(key, limit, live=live)
    if cli.json:
        echo_json(answer)
    elif answer["subagents"]:
        click.echo(subagent_table(answer["subagents"]))
    else:
        click.echo("no sub-agents")


@subagents.command("info", epilog="Example: ocw subagents info 3 --json | jq .delivery")
@click.argument("subagent", metavar="ID")
@json_option
@pass_cli
def show_subagent(cli: CliContext, subagent: str) -> None:
    """Show everything on record about one sub-agent's run."""
    answer = cli.backend.subagent(subagent)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(field_list(subagent_details(answer)))


@subagents.command("log", epilog="Example: ocw subagents log 3 --limit 20")
@click.argument("subagent", metavar="ID")
@click.option("--limit", type=COUNT, help="Only the newest entries; all otherwise.")
@json_option
@pass_cli
def show_log(cli: CliContext, subagent: str, limit: int | None) -> None:
    """Print a sub-agent's transcript, oldest entry first."""
    entries = cli.backend.log(subagent, limit)
    if cli.json:
        echo_json(entries)
        return
    for entry in entries:
        click.echo("\n".join(entry_lines(entry_of(entry))))
    run = cli.backend.subagent(subagent)
    if not is_final(run):
        click.echo(f"[{run['state']}; `ocw runs watch {run['runId']}` follows it]", err=True)


@subagents.command(
    "send",
    epilog="""\b
Examples:
  ocw subagents send 3 "now do the same for the other file"
  git diff | ocw subagents send review - --wait
""",
)
@click.argument("subagent", metavar="ID")
@click.argument("message")
@click.option("--wait", "and_wait", is_flag=True, help="Print its answer; the parent gets it as well.")
@json_option
@pass_cli
def send_subagent(cli: CliContext, subagent: str, message: str, and_wait: bool) -> None:
    """Send a message that the sub-agent answers after its current turn, or in a new run if it has ended."""
    _send(cli, subagent, message, QueueMode.FOLLOWUP, and_wait=and_wait)


@subagents.command("steer", epilog='Example: ocw subagents steer 3 "leave out the tests"')
@click.argument("subagent", metavar="ID")
@click.argument("message")
@click.option("--wait", "and_wait", is_flag=True, help="Print its answer; the parent gets it as well.")
@json_option
@pass_cli
def steer_subagent(cli: CliContext, subagent: str, message: str, and_wait: bool) -> None:
    """Send a message into the running turn, which reads it before its next model call."""
    _send(cli, subagent, message, QueueMode.STEER, and_wait=and_wait)


def _send(cli: CliContext, subagent: str, message: str, mode: QueueMode, *, and_wait: bool) -> None:
    message = read_stdin() if message == "-" else check_argument(message)
    run = cli.backend.subagent(subagent)
    cli.backend.log(run["runId"], 1)  # raises if its session was removed
    session = SessionKey(run["childSessionKey"])
    outgoing = OutgoingText(text=message, session=session, message_id=new_message_id(), mode=mode)
    match send_message(cli, outgoing):
        case Answered(text):
            _finish(cli, Answer(session, "command", text=text))
        case Rejected(_, reason):
            _finish(cli, rejection(session, reason))
        case Queued() as queued if and_wait:
            _finish(cli, _answer(cli, queued), is_text_shown=True)
        case Queued() as queued:
            _print_accepted(cli, run, queued, mode)


def _answer(cli: CliContext, queued: Queued) -> Answer:
    conversation = Conversation(queued.session_key, message=queued.message_id, run=queued.run, after=queued.event_id)
    return show(cli, conversation, answer_stream_for(cli, queued.session_key))


def _print_accepted(cli: CliContext, run: dict[str, Any], queued: Queued, mode: QueueMode) -> None:
    label = run["label"] or ""
    if cli.json:
        echo_json(answer_json(Answer(queued.session_key, "accepted", queued.run)))
    elif queued.run and queued.run != run["runId"]:
        where = run["requesterSessionKey"]
        click.echo(f"{label!r} had ended and continues as {queued.run}; {where} gets the result")
    elif mode is QueueMode.STEER:
        click.echo(f"accepted; {label!r} reads it before its next model call")
    else:
        click.echo(f"accepted; {label!r} answers it after its current turn")


def _finish(cli: CliContext, answer: Answer, *, is_text_shown: bool = False) -> NoReturn:
    if cli.json:
        echo_json(answer_json(answer))
    else:
        if answer.text and not is_text_shown:
            click.echo(printable(answer.text))
        report_error(answer)
    leave(exit_code_of(answer))


@subagents.command("stop", epilog="Example: ocw subagents stop 3 --wait")
@click.argument("subagent", metavar="ID")
@click.option("--wait", "and_wait", is_flag=True, help="Return when all of them have ended.")
@json_option
@pass_cli
def stop_subagent(cli: CliContext, subagent: str, and_wait: bool) -> None:
    """Stop a sub-agent and everything below it; its parent gets `killed` as the result."""
    answer = cli.backend.stop_subagent(subagent)
    runs = answer["runs"]
    if and_wait:
        wait_until_settled(cli, list(runs))
        runs.update({each["runId"]: each["state"] for each in cli.backend.some_runs(list(runs))})
    if cli.json:
        echo_json(answer)
        return
    label, others = cli.backend.subagent(answer["runId"])["label"] or "", len(runs) - 1
    names = f"{label!r} and {others} below it" if others else repr(label)
    if all(RunState(state).is_final for state in runs.values()):
        click.echo(f"{names} {'have' if others else 'has'} ended")
    else:
        click.echo(f"{names} {'are' if others else 'is'} stopping")


@subagents.command("retry", epilog="Example: ocw subagents retry batch-0123456789abcdef")
@click.argument("subagent", metavar="ID | BATCH")
@json_option
@pass_cli
def retry_delivery(cli: CliContext, subagent: str) -> None:
    """Deliver a blocked result again within seconds; its tries are counted from zero."""
    answer = cli.backend.retry_delivery(subagent)
    if cli.json:
        echo_json(answer)
    else:
        what = f"{answer['batch']} is delivered to {answer['sessionKey']} within seconds"
        click.echo(f"{what}; `ocw subagents list` shows it")
