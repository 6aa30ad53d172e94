"""`ocw subagents`: list and show sub-agents, send them messages, stop them."""

from __future__ import annotations

import json
import sys
from typing import NoReturn

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import answer_stream_for, exit_code_of, report_error, send_message, show
from openclaw_workers.cli.keyboard import check_stdin
from openclaw_workers.cli.output import COUNT, echo_json, json_option, leave
from openclaw_workers.cli.render.subagents import subagent_details, subagent_table
from openclaw_workers.cli.render.text import field_list
from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.cli.watch import wait_until_settled
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.ids import BatchId, new_message_id
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.engine.intake.accept import Answered, Queued, Rejected
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.queries.subagent_answers import (
    list_subagents_below,
    session_of,
    states_of,
    stop_subagent_tree,
    stopped_answer,
    subagent_answer,
    subagents_answer,
    thread_of,
)
from openclaw_workers.queries.subagents import find_subagent, subagent_index
from openclaw_workers.views.answers import Answer, answer_json, rejection


@click.group(
    epilog="""\b
Examples:
  ocw subagents list
  ocw subagents info 3
  ocw subagents steer 3 "leave out the tests"
  ocw subagents stop "read the logs"
ID is a number of the list, a label, a run id or a session key. Numbers change when old records expire.
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
    found, batches = list_subagents_below(cli, key, limit, live=live)
    if cli.json:
        echo_json(subagents_answer(found, batches))
    elif found:
        click.echo(subagent_table(found, batches, subagent_index(cli).numbers))
    else:
        click.echo("no sub-agents")


@subagents.command("info", epilog="Example: ocw subagents info 3 --json | jq .delivery")
@click.argument("subagent", metavar="ID")
@json_option
@pass_cli
def show_subagent(cli: CliContext, subagent: str) -> None:
    """Show everything on record about one sub-agent's run."""
    run = find_subagent(cli, subagent)
    if cli.json:
        echo_json(subagent_answer(cli, run))
        return
    batch = cli.stores.tree.batch(run.batch) if run.batch else None
    click.echo(field_list([*subagent_details(run, batch), ("thread", thread_of(cli, run))]))


@subagents.command("log", epilog="Example: ocw subagents log 3 --limit 20")
@click.argument("subagent", metavar="ID")
@click.option("--limit", type=COUNT, help="Only the newest entries; all otherwise.")
@json_option
@pass_cli
def show_log(cli: CliContext, subagent: str, limit: int | None) -> None:
    """Print a sub-agent's transcript, oldest entry first."""
    run = find_subagent(cli, subagent)
    raws, _ = cli.stores.reader.raw_transcript(session_of(cli, run), -limit if limit else 0)
    if cli.json:
        echo_json([json.loads(raw) for raw in raws])
        return
    for raw in raws:
        click.echo("\n".join(entry_lines(load_entry(raw))))
    if not run.state.is_final:
        click.echo(f"[{run.state}; `ocw runs watch {run.id}` follows it]", err=True)


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
    _send(cli, find_subagent(cli, subagent), message, QueueMode.FOLLOWUP, and_wait=and_wait)


@subagents.command("steer", epilog='Example: ocw subagents steer 3 "leave out the tests"')
@click.argument("subagent", metavar="ID")
@click.argument("message")
@click.option("--wait", "and_wait", is_flag=True, help="Print its answer; the parent gets it as well.")
@json_option
@pass_cli
def steer_subagent(cli: CliContext, subagent: str, message: str, and_wait: bool) -> None:
    """Send a message into the running turn, which reads it before its next model call."""
    _send(cli, find_subagent(cli, subagent), message, QueueMode.STEER, and_wait=and_wait)


def _send(cli: CliContext, run: Run, message: str, mode: QueueMode, *, and_wait: bool) -> None:
    if message == "-":
        check_stdin()
        message = sys.stdin.read()
    session = session_of(cli, run)
    match send_message(cli, message, session, new_message_id(), mode=mode):
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


def _print_accepted(cli: CliContext, run: Run, queued: Queued, mode: QueueMode) -> None:
    if cli.json:
        echo_json(answer_json(Answer(run.session_key, "accepted", queued.run)))
    elif queued.run and queued.run != run.id:
        click.echo(
            f"{run.label!r} had ended and continues as {queued.run}; {run.requester_session_key} gets the result"
        )
    elif mode is QueueMode.STEER:
        click.echo(f"accepted; {run.label!r} reads it before its next model call")
    else:
        click.echo(f"accepted; {run.label!r} answers it after its current turn")


def _finish(cli: CliContext, answer: Answer, *, is_text_shown: bool = False) -> NoReturn:
    if cli.json:
        echo_json(answer_json(answer))
    else:
        if answer.text and not is_text_shown:
            click.echo(answer.text)
        report_error(answer)
    leave(exit_code_of(answer))


@subagents.command("stop", epilog="Example: ocw subagents stop 3 --wait")
@click.argument("subagent", metavar="ID")
@click.option("--wait", "and_wait", is_flag=True, help="Return when all of them have ended.")
@json_option
@pass_cli
def stop_subagent(cli: CliContext, subagent: str, and_wait: bool) -> None:
    """Stop a sub-agent and everything below it; its parent gets `killed` as the result."""
    run = find_subagent(cli, subagent)
    ids = stop_subagent_tree(cli, cli.control, run)
    if and_wait:
        wait_until_settled(cli, ids)
    states = states_of(cli, ids)
    if cli.json:
        echo_json(stopped_answer(run, states))
        return
    others = len(ids) - 1
    names = f"{run.label!r} and {others} below it" if others else repr(run.label)
    if all(state.is_final for state in states.values()):
        click.echo(f"{names} {'have' if others else 'has'} ended")
    else:
        click.echo(f"{names} {'are' if others else 'is'} stopping")


@subagents.command("retry", epilog="Example: ocw subagents retry batch-0123456789abcdef")
@click.argument("subagent", metavar="ID | BATCH")
@json_option
@pass_cli
def retry_delivery(cli: CliContext, subagent: str) -> None:
    """Deliver a blocked result again within seconds; its tries are counted from zero."""
    if subagent.startswith("batch-"):
        batch_id = BatchId(subagent)
    else:
        run = find_subagent(cli, subagent)
        assert run.batch is not None, "a child has one"
        batch_id = run.batch
    batch = cli.stores.tree.batch(batch_id)
    if batch is None:
        raise NotFound(f"no batch {batch_id}", hint="`ocw subagents list --live` shows what is not delivered")
    if not cli.stores.tree.retry(batch_id):
        raise ConflictError(f"{batch_id} is {batch.state}; there is nothing to deliver again")
    if cli.json:
        echo_json({"ok": True, "batch": batch_id, "sessionKey": batch.parent_session})
    else:
        click.echo(f"{batch_id} is delivered to {batch.parent_session} within seconds; `ocw subagents list` shows it")
