"""`ocw pairing`: let people and groups of chat channels in, and see who was refused."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, table


@click.group(
    epilog="""\b
Examples:
  ocw pairing list
  ocw pairing approve ABCD2345
  ocw pairing approve telegram:group:-1001234567890
  ocw pairing revoke telegram:123456789
WHO is a pairing code, a person (telegram:ID), a group (telegram:group:ID) or a member of a group
(telegram:group:ID:ID). For an account other than the default one, write telegram/work:ID.
"""
)
def pairing() -> None:
    """Let people and groups of chat channels in, and see who was refused."""


@pairing.command("list", epilog="Example: ocw pairing list --json | jq '.refused[].command'")
@json_option
@pass_cli
def list_pairings(cli: CliContext) -> None:
    """List who asks to be let in, who was let in, and who was refused, with the command that admits them."""
    found = cli.backend.pairings()
    if cli.json:
        echo_json(found)
        return
    parts = [_requests(found["requests"]), _admitted(found["admitted"]), _refused(found["refused"])]
    click.echo("\n\n".join(filter(None, parts)) or "nobody has written, and nobody was let in")


@pairing.command(
    "approve",
    epilog="""\b
Examples:
  ocw pairing approve ABCD2345
  ocw pairing approve telegram:123456789 --share-session
""",
)
@click.argument("who")
@click.option("--share-session", is_flag=True, help="Let a second person into the conversation of the first.")
@json_option
@pass_cli
def approve(cli: CliContext, who: str, share_session: bool) -> None:
    """Let in a person or a group, by pairing code or by id. The first person becomes owner if there is none."""
    admitted = cli.backend.approve(who, share_session=share_session)
    if cli.json:
        echo_json(admitted)
        return
    name = f" ({admitted['name']})" if admitted["name"] else ""
    click.echo(f"{admitted['subject']}{name} is let in{_rights(admitted)}")


@pairing.command("revoke", epilog="Example: ocw pairing revoke telegram:123456789")
@click.argument("who")
@json_option
@pass_cli
def revoke(cli: CliContext, who: str) -> None:
    """Revoke somebody's access, or reject a request. People in the configuration are removed there."""
    answer = cli.backend.revoke(who)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{answer['subject']} no longer has access")


def _rights(admitted: dict[str, Any]) -> str:
    match admitted["kind"]:
        case "group":
            return "; the agent reads owners and people in groupAllowFrom there"
        case "member":
            return ", in this group"
        case _ if admitted["owner"]:
            return " as owner: every command and tool"
    return f"; make it an owner with channels.{admitted['channel']}.owners: [{admitted['personId']}]"


def _requests(requests: list[dict[str, Any]]) -> str:
    rows = [(each["code"], each["subject"], each["name"], age(each["createdAt"]), each["command"]) for each in requests]
    return table(("CODE", "WHO", "NAME", "ASKED", "COMMAND"), rows) if rows else ""


def _admitted(admitted: list[dict[str, Any]]) -> str:
    rows = [
        (each["subject"], each["name"], "owner" if each["owner"] else each["kind"], age(each["approvedAt"]))
        for each in admitted
    ]
    return table(("LET IN", "NAME", "AS", "SINCE"), rows) if rows else ""


def _refused(refused: list[dict[str, Any]]) -> str:
    rows = [
        (each["subject"], each["name"], each["reason"], each["count"], age(each["lastAt"]))
        + (each["command"] or each["setting"],)
        for each in refused
    ]
    return table(("REFUSED", "NAME", "WHY", "TIMES", "LAST", "TO ADMIT"), rows, right=("TIMES",)) if rows else ""
