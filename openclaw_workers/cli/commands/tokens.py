"""`ocw tokens`: access tokens of the HTTP API."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.named_ids import token_named
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, printable, table
from openclaw_workers.domain.tokens import Scope


@click.group(
    epilog="""\b
Examples:
  ocw tokens create --scope chat --name laptop
  ocw tokens create --scope read --agent work --json
  ocw tokens list
  ocw tokens revoke 0123456789ab
Scopes: read looks, chat also sends messages as an authorised person, admin does everything as the owner.
"""
)
def tokens() -> None:
    """Create, list and revoke access tokens for the HTTP API."""


@tokens.command("create", epilog="Example: ocw tokens create --scope chat --name laptop")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default="chat",
    show_default=True,
    help="What the token allows.",
)
@click.option("--name", metavar="TEXT", default="", help="What it is for; shown in the list.")
@click.option("--agent", "agent_id", metavar="ID", help="The token reaches only this agent.")
@click.option("--person", metavar="CHANNEL:ID", help="Its messages have the authority of this person.")
@json_option
@pass_cli
def create_token(cli: CliContext, scope: str, name: str, agent_id: str | None, person: str | None) -> None:
    """Create a token and print it. It cannot be shown again."""
    answer = cli.backend.create_token(scope, name=name, agent=agent_id, person=person)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(answer["token"])
        click.echo(f"keep it: it is not shown again; `ocw tokens revoke {answer['id']}` ends it", err=True)


@tokens.command("list", epilog="Example: ocw tokens list --json")
@json_option
@pass_cli
def list_tokens(cli: CliContext) -> None:
    """List tokens, oldest first, without their secrets."""
    answer = cli.backend.tokens()
    if cli.json:
        echo_json(answer)
    elif answer["tokens"]:
        rows = [
            (row["id"], row["scope"], row["agent"] or "", row["person"] or "", age(row["createdAt"]))
            + (age(row["usedAt"]) if row["usedAt"] else "never", printable(row["name"]))
            for row in answer["tokens"]
        ]
        click.echo(table(("ID", "SCOPE", "AGENT", "PERSON", "MADE", "USED", "NAME"), rows, cut=("NAME", "PERSON")))
    else:
        click.echo("no tokens; `ocw tokens create` creates one")


@tokens.command("revoke", epilog="Example: ocw tokens revoke 0123456789ab")
@click.argument("token_id", metavar="ID")
@json_option
@pass_cli
def revoke_token(cli: CliContext, token_id: str) -> None:
    """End a token and the browser sessions that it opened, within two seconds."""
    token_id = token_named(cli, token_id)
    answer = cli.backend.revoke_token(token_id)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{token_id} is revoked")


@tokens.command("link", epilog="Example: ocw tokens link 0123456789ab")
@click.argument("token_id", metavar="ID")
@json_option
@pass_cli
def login_link(cli: CliContext, token_id: str) -> None:
    """Print a link that logs one browser in, once, with the rights of a token."""
    answer = cli.backend.login_link(token_named(cli, token_id))
    if cli.json:
        echo_json(answer)
    else:
        click.echo(answer["url"])
        click.echo(f"it works once, for {answer['seconds'] // 60} minutes", err=True)
