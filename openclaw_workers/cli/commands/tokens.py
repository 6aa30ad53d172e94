"""`ocw tokens`: access tokens of the HTTP interface."""

from __future__ import annotations

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, printable, table
from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.domain.pairing import parse_subject
from openclaw_workers.domain.tokens import Scope, token_json
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.store.tokens import CODE_SECONDS, Tokens

MOST_NAME_CHARS = 80


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
    """Make, list and revoke access tokens of the HTTP interface."""


@tokens.command("create", epilog="Example: ocw tokens create --scope chat --name laptop")
@click.option("--scope", type=click.Choice([scope.value for scope in Scope]), default="chat", show_default=True)
@click.option("--name", metavar="TEXT", default="", help="What it is for; shown in the list.")
@click.option("--agent", "agent_id", metavar="ID", help="It sees and reaches this agent only.")
@click.option("--person", metavar="CHANNEL:ID", help="Its messages have the authority of this person.")
@json_option
@pass_cli
def create_token(cli: CliContext, scope: str, name: str, agent_id: str | None, person: str | None) -> None:
    """Make a token and print it. It cannot be shown again."""
    if agent_id is not None:
        agent_id = resolve_agent_id(cli.loaded.settings, explicit=agent_id)
    if person is not None and parse_subject(person).kind != "person":
        raise BadInput(f"--person {person!r} is a group", hint="such as telegram:123456789")
    token, secret = _store(cli).create(Scope(scope), name=name.strip()[:MOST_NAME_CHARS], agent=agent_id, person=person)
    if cli.json:
        echo_json({"ok": True, "token": secret, **token_json(token, None)})
    else:
        click.echo(secret)
        click.echo(f"keep it: it is not shown again; `ocw tokens revoke {token.id}` ends it", err=True)


@tokens.command("list", epilog="Example: ocw tokens list --json")
@json_option
@pass_cli
def list_tokens(cli: CliContext) -> None:
    """List tokens, oldest first, without their secrets."""
    found = _store(cli).all()
    if cli.json:
        echo_json({"ok": True, "tokens": [token_json(token, used_at) for token, used_at in found]})
    elif found:
        rows = [
            (token.id, token.scope, token.agent or "", token.person or "", age(token.created_at))
            + (age(used_at) if used_at else "never", printable(token.name))
            for token, used_at in found
        ]
        click.echo(table(("ID", "SCOPE", "AGENT", "PERSON", "MADE", "USED", "NAME"), rows))
    else:
        click.echo("no tokens; `ocw tokens create` makes one")


@tokens.command("revoke", epilog="Example: ocw tokens revoke 0123456789ab")
@click.argument("token_id", metavar="ID")
@json_option
@pass_cli
def revoke_token(cli: CliContext, token_id: str) -> None:
    """End a token and the browser sessions that it opened, within two seconds."""
    if not _store(cli).revoke(token_id):
        raise NotFound(f"no token {token_id}", hint="`ocw tokens list` shows the ids")
    if cli.json:
        echo_json({"ok": True, "id": token_id})
    else:
        click.echo(f"{token_id} is revoked")


@tokens.command("link", epilog="Example: ocw tokens link 0123456789ab")
@click.argument("token_id", metavar="ID")
@json_option
@pass_cli
def login_link(cli: CliContext, token_id: str) -> None:
    """Print a link that logs one browser in, once, with the rights of a token."""
    store = _store(cli)
    if store.get(token_id) is None:
        raise NotFound(f"no token {token_id}", hint="`ocw tokens list` shows the ids")
    url = cli.ingress_url
    link = f"{url}/auth/link?code={store.login_code(token_id)}"
    if cli.json:
        echo_json({"ok": True, "url": link, "seconds": CODE_SECONDS})
    else:
        click.echo(link)
        click.echo(f"it works once, for {CODE_SECONDS // 60} minutes", err=True)


def _store(cli: CliContext) -> Tokens:
    return Tokens(cli.stores.redis, cli.stores.keys)
