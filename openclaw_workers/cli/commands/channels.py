"""`ocw channels`: accounts of chat channels, who receives for them, and whether they work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, field_list, table

SETUP = "`ocw channels test` says what to do"


@click.group(
    epilog="""\b
Examples:
  ocw channels list
  ocw channels status telegram
  ocw channels test telegram/work --to 123456789
ACCOUNT is the channel, followed by /NAME unless it is the default account.
"""
)
def channels() -> None:
    """Show accounts of chat channels, and whether they work."""


@channels.command("list", epilog="Example: ocw channels list --json")
@json_option
@pass_cli
def list_channels(cli: CliContext) -> None:
    """List the configured accounts and who receives for them."""
    answer = cli.backend.channels()
    if cli.json:
        echo_json(answer)
        return
    rows = [
        (row["name"], row["botName"] and f"@{row['botName']}", _state(row), row["receives"])
        + (row["receiver"], age(row["lastUpdateAt"]))
        for row in answer["channels"]
    ]
    click.echo(
        table(("ACCOUNT", "BOT", "STATE", "BY", "RECEIVER", "LAST MESSAGE"), rows, cut=("RECEIVER",), drop=("BY",))
    )


@channels.command("status", epilog="Example: ocw channels status telegram/work")
@click.argument("account", metavar="ACCOUNT", default="telegram")
@json_option
@pass_cli
def show_status(cli: CliContext, account: str) -> None:
    """Show one account: its receiver, its last error, and who was refused.

    For each refused person and group, it shows the command that lets them in.
    """
    answer = cli.backend.channel(account)
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
    answer = cli.backend.check_channel(account, chat)
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
            ("NAME", "WHY", "LAST", "TO LET THEM IN"),
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
            "chats that refuse messages from the bot:",
            ("CHAT", "SINCE", "WHY"),
            [(row["chat"], age(row["at"]), row["reason"]) for row in answer["blockedChats"]],
        ),
    ]
    return "\n".join(filter(None, blocks))


def _block(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return f"\n{title}\n{table(head, rows)}" if rows else ""
