"""`ocw channels`: accounts of chat channels, who receives for them, and whether they work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, field_list, table
from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage, OutgoingState
from openclaw_workers.errors import NotFound, TransientError
from openclaw_workers.queries.channel_answers import channel_answer, channels_answer, find_account

if TYPE_CHECKING:
    from openclaw_workers.store.channels import ChannelAccount

SEND_SECONDS = 30
LOOK_SECONDS = 0.2
SETUP = "`ocw channels test` tells what to do"


@click.group(
    epilog="""\b
Examples:
  ocw channels list
  ocw channels status telegram
  ocw channels test telegram/work --to 123456789
An account is written as its channel, with /NAME behind it if it is not the default one.
"""
)
def channels() -> None:
    """Show accounts of chat channels, and whether they work."""


@channels.command("list", epilog="Example: ocw channels list --json")
@json_option
@pass_cli
def list_channels(cli: CliContext) -> None:
    """List the configured accounts and who receives for them."""
    answer = channels_answer(cli)
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (row["name"], row["botName"] and f"@{row['botName']}", _state(row), row["receives"])
        + (row["receiver"], age(row["lastUpdateAt"]))
        for row in answer["channels"]
    ]
    click.echo(table(("ACCOUNT", "BOT", "STATE", "BY", "RECEIVER", "LAST MESSAGE"), rows))


@channels.command("status", epilog="Example: ocw channels status telegram/work")
@click.argument("account", metavar="ACCOUNT", default="telegram")
@json_option
@pass_cli
def show_status(cli: CliContext, account: str) -> None:
    """Show one account: its receiver, its last error, and whom it did not hear.

    For each person and group that was refused, the command is shown that lets them in.
    """
    answer = channel_answer(cli, account)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(_status_text(answer))


@channels.command("test", epilog="Example: ocw channels test telegram --to 123456789")
@click.argument("account", metavar="ACCOUNT", default="telegram")
@click.option("--to", "chat", metavar="CHAT", help="Also send a message to this chat, through the outbox.")
@json_option
@pass_cli
def test_account(cli: CliContext, account: str, chat: str | None) -> None:
    """Ask the channel whether it knows the token, and optionally send a message."""
    from ingress.channels.registry import check_account

    found = find_account(cli, account)
    said = check_account(cli.loaded.settings, found.account)
    answer: dict[str, Any] = {"ok": True, "name": found.name, **said, "sent": None}
    if chat is not None:
        answer["sent"] = _send(cli, found.account, chat)
    if cli.json:
        echo_json(answer)
        return
    pairs = [
        ("bot", f"@{answer['botName']} (id {answer['botId']})"),
        ("address", answer["address"]),
        ("webhook", answer["webhookUrl"] or "none: updates are polled"),
        ("waiting", f"{answer['pendingUpdates']} updates at the channel"),
        ("sent", answer["sent"] and f"message {answer['sent']}"),
    ]
    click.echo(field_list(pairs))


def _send(cli: CliContext, account: ChannelAccount, chat: str) -> str:
    """Send a message the way all others go, and wait until the channel has it.

    Raises:
        TransientError: it was not sent in time, or the channel refused it.
    """
    outbox = cli.stores.outbox
    route = Route(channel=account.channel, account_id=account.account_id, to=chat)
    text = "This is a test of `ocw channels test`."
    message = OutgoingMessage(id=f"test-{new_token()}", kind=OutgoingKind.MESSAGE, route=route, text=text)
    outbox.put(message)
    deadline = time.monotonic() + SEND_SECONDS
    while time.monotonic() < deadline:
        try:
            entry, _ = outbox.get(message.id)
        except NotFound:
            break
        if entry.state is OutgoingState.SENT:
            return entry.parts[-1].message_id
        if entry.state in (OutgoingState.FAILED, OutgoingState.UNKNOWN):
            raise TransientError(f"the message is {entry.state}: {entry.error}", hint=f"`ocw outbox show {entry.id}`")
        time.sleep(LOOK_SECONDS)
    hint = "an ingress must run (`ocw up` or `ocw ingress`); `ocw outbox list` shows what waits"
    raise TransientError(f"nobody sent the message within {SEND_SECONDS} s", hint=hint)


def _state(row: dict[str, Any]) -> str:
    if not row["hasToken"]:
        return "no token"
    if not row["enabled"]:
        return "off"
    if row["lastError"]:
        return "failing"
    return "receiving" if row["receiver"] else "nobody receives"


def _status_text(answer: dict[str, Any]) -> str:
    pairs = [
        ("account", answer["name"]),
        ("bot", answer["address"]),
        ("state", _state(answer) + (f"; {SETUP}" if not answer["hasToken"] else "")),
        ("receiver", answer["receiver"] or "none: `ocw up` or `ocw ingress` starts one"),
        ("receives by", answer["receives"]),
        ("last poll", age(answer["lastPollAt"])),
        ("last message", age(answer["lastUpdateAt"])),
        ("waiting", f"{answer['waitingUpdates']} updates"),
        ("last error", answer["lastError"] and f"{answer['lastError']} ({age(answer['lastErrorAt'])})"),
    ]
    blocks = [
        field_list(pairs),
        _block(
            "not heard:",
            ("NAME", "WHY", "LAST", "WHAT LETS THEM IN"),
            [
                (row["name"], row["reason"], age(row["lastAt"]), row["command"] or row["setting"])
                for row in answer["refused"]
            ],
        ),
        _block(
            "updates that could not be accepted:",
            ("WHEN", "CHAT", "WHY"),
            [(age(row["at"]), row["chat"], row["reason"]) for row in answer["refusedUpdates"]],
        ),
        _block(
            "chats that take nothing from the bot:",
            ("CHAT", "SINCE", "WHY"),
            [(row["chat"], age(row["at"]), row["reason"]) for row in answer["blockedChats"]],
        ),
    ]
    return "\n".join(filter(None, blocks))


def _block(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return f"\n{title}\n{table(head, rows)}" if rows else ""
