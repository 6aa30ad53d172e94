"""Acting on one sub-agent: `ocw subagents send | steer | stop | retry`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NoReturn

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import exit_code_of, report_error, screen_for, show
from openclaw_workers.cli.conversation import send as send_message
from openclaw_workers.cli.find.sessions import trees
from openclaw_workers.cli.find.subagents import find_subagent
from openclaw_workers.cli.keyboard import check_stdin
from openclaw_workers.cli.output import echo_json, json_option, leave
from openclaw_workers.client.conversation import Conversation
from openclaw_workers.domain.ids import BatchId, RunId, new_message_id
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import Run
from openclaw_workers.engine.intake.accept import Answered, Queued, Rejected
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.views.answers import Answer, answer_json, rejection

LOOK_SECONDS = 0.1


@click.command(
    epilog="""\b
Examples:
  ocw subagents send 3 "now do the same for the other file"
  git diff | ocw subagents send review - --wait
"""
)
@click.argument("subagent", metavar="ID")
@click.argument("message")
@click.option("--wait", "and_wait", is_flag=True, help="Print its answer; the parent hears it as well.")
@json_option
@pass_cli
def send(cli: CliContext, subagent: str, message: str, and_wait: bool) -> None:
    """Send a message as a follow-up: answered after what it does now, or in a new run if it has ended."""
    _say(cli, find_subagent(cli, subagent), message, QueueMode.FOLLOWUP, and_wait=and_wait)


@click.command(epilog='Example: ocw subagents steer 3 "leave out the tests"')
@click.argument("subagent", metavar="ID")
@click.argument("message")
@click.option("--wait", "and_wait", is_flag=True, help="Print its answer; the parent hears it as well.")
@json_option
@pass_cli
def steer(cli: CliContext, subagent: str, message: str, and_wait: bool) -> None:
    """Say something into the running turn: it is read before the next model call."""
    _say(cli, find_subagent(cli, subagent), message, QueueMode.STEER, and_wait=and_wait)


def _say(cli: CliContext, run: Run, message: str, mode: QueueMode, *, and_wait: bool) -> None:
    if message == "-":
        check_stdin()
        message = sys.stdin.read()
    session = run.session_key
    if cli.stores.reader.session(session) is None:
        raise NotFound(f"the session of {run.label!r} was removed after its result was delivered")
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
    return show(cli, conversation, screen_for(cli, queued.session_key))


def _print_accepted(cli: CliContext, run: Run, queued: Queued, mode: QueueMode) -> None:
    if cli.json:
        echo_json(answer_json(Answer(run.session_key, "accepted", queued.run)))
    elif queued.run and queued.run != run.id:
        click.echo(f"{run.label!r} had ended and goes on as {queued.run}; {run.requester_session_key} hears the result")
    elif mode is QueueMode.STEER:
        click.echo(f"accepted; {run.label!r} reads it before its next model call")
    else:
        click.echo(f"accepted; {run.label!r} answers it after what it does now")


def _finish(cli: CliContext, answer: Answer, *, is_text_shown: bool = False) -> NoReturn:
    if cli.json:
        echo_json(answer_json(answer))
    else:
        if answer.text and not is_text_shown:
            click.echo(answer.text)
        report_error(answer)
    leave(exit_code_of(answer))


@click.command(epilog="Example: ocw subagents stop 3 --wait")
@click.argument("subagent", metavar="ID")
@click.option("--wait", "and_wait", is_flag=True, help="Return when all of it has settled.")
@json_option
@pass_cli
def stop(cli: CliContext, subagent: str, and_wait: bool) -> None:
    """Stop a sub-agent and everything below it; its parent is told that it was killed."""
    run = find_subagent(cli, subagent)
    below = [each for each in trees(cli).runs(run.session_key) if each.is_child and each.settled_at is None]
    if not below and run.settled_at is not None:
        raise ConflictError(
            f"{run.label!r} had already ended ({run.state}); nothing was stopped",
            hint=f"`ocw subagents info {run.id}` tells more",
        )
    cli.control.stop_session(run.session_key)
    ids = list(dict.fromkeys([run.id, *(each.id for each in below)]))
    if and_wait:
        wait_settled(cli, ids)
    states = {each.id: each.state for each in cli.stores.reader.some_runs(ids)}
    if cli.json:
        echo_json({"ok": True, "runId": run.id, "childSessionKey": run.session_key, "runs": states})
        return
    is_over, others = all(state.is_final for state in states.values()), len(ids) - 1
    has, is_ = ("have", "are") if others else ("has", "is")
    told = f"{run.label!r} and {others} below it" if others else repr(run.label)
    click.echo(f"{told} {has} ended" if is_over else f"{told} {is_} told to stop")


def wait_settled(cli: CliContext, ids: Sequence[RunId]) -> None:
    """Return when these sub-agents, and all below them, have ended."""
    while any(each.settled_at is None for each in cli.stores.reader.some_runs(ids)):
        time.sleep(LOOK_SECONDS)


@click.command(epilog="Example: ocw subagents retry batch-0123456789abcdef")
@click.argument("subagent", metavar="ID | BATCH")
@json_option
@pass_cli
def retry(cli: CliContext, subagent: str) -> None:
    """Deliver a blocked result again: within seconds, and with all its tries anew."""
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
