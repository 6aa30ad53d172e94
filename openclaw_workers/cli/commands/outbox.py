"""`ocw outbox`: messages to chats that wait, that are not certain, or that failed."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.named_ids import outgoing_named
from openclaw_workers.cli.output import COUNT, echo_json, json_option
from openclaw_workers.cli.render.outbox import missing_senders, outbox_details, outbox_table
from openclaw_workers.domain.outgoing import OutgoingState


@click.group(
    epilog="""\b
Examples:
  ocw outbox list                           what waits, is unknown or failed
  ocw outbox list --all --json              also what was sent in the last day
  ocw outbox show out-run-0123456789abcdef-1-reply
  ocw outbox retry out-run-0123456789abcdef-1-reply
  ocw outbox drop out-run-0123456789abcdef-1-reply
"""
)
def outbox() -> None:
    """Show messages to chats; send unknown and failed ones again, or drop them."""


@outbox.command("list", epilog="Example: ocw outbox list --state unknown")
@click.option("--all", "with_sent", is_flag=True, help="Also those that were sent or dropped in the last 24 hours.")
@click.option("--state", type=click.Choice([state.value for state in OutgoingState]), help="Only those in this state.")
@click.option("--limit", type=COUNT, default=50, show_default=True, help="How many, newest first.")
@json_option
@pass_cli
def list_messages(cli: CliContext, with_sent: bool, state: str | None, limit: int) -> None:
    """List messages that wait, are unknown or failed, newest first."""
    answer = cli.backend.outbox(limit, state, with_sent=with_sent)
    if cli.json:
        echo_json(answer)
        return
    click.echo(outbox_table(answer["messages"]) if answer["messages"] else "no messages")
    for line in missing_senders(answer):
        click.echo(line, err=True)


@outbox.command("show", epilog="Example: ocw outbox show out-run-0123456789abcdef-1-reply --json")
@click.argument("message_id", metavar="MESSAGE")
@json_option
@pass_cli
def show_message(cli: CliContext, message_id: str) -> None:
    """Show one message: its text, its parts, and what became of each."""
    answer = cli.backend.outgoing(outgoing_named(cli, message_id))
    if cli.json:
        echo_json(answer)
    else:
        click.echo(outbox_details(answer))


@outbox.command("retry", epilog="Example: ocw outbox retry out-run-0123456789abcdef-1-reply")
@click.argument("message_id", metavar="MESSAGE")
@json_option
@pass_cli
def retry_message(cli: CliContext, message_id: str) -> None:
    """Send an unknown or failed message again, without the parts that were certainly sent.

    An unknown part may have arrived already; the chat then shows it twice.
    """
    _answer(cli, cli.backend.retry_outgoing(outgoing_named(cli, message_id)), "is sent again")


@outbox.command("drop", epilog="Example: ocw outbox drop out-run-0123456789abcdef-1-reply")
@click.argument("message_id", metavar="MESSAGE")
@json_option
@pass_cli
def drop_message(cli: CliContext, message_id: str) -> None:
    """Never send a message; it is listed as dropped for another 24 hours."""
    _answer(cli, cli.backend.drop_outgoing(outgoing_named(cli, message_id)), "is dropped")


def _answer(cli: CliContext, answer: dict[str, Any], what: str) -> None:
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['id']} {what}")
