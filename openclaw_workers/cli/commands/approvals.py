"""`ocw approvals`: commands and questions that wait for a person, and what was allowed for longer."""

from __future__ import annotations

from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import age, printable, table


@click.group(
    epilog="""\b
Examples:
  ocw approvals list
  ocw approvals approve q-0123456789ab
  ocw approvals approve q-0123456789ab --always
  ocw approvals deny q-0123456789ab
  ocw approvals answer q-0123456789ab "the second one"
  ocw approvals revoke "git status"
Without an id, approve and deny mean the only question that waits.
"""
)
def approvals() -> None:
    """List what waits for a person, and allow, deny or answer it."""


@approvals.command("list", epilog="Example: ocw approvals list --json | jq '.questions[].command'")
@json_option
@pass_cli
def list_questions(cli: CliContext) -> None:
    """List commands and questions that wait for a person, and what was allowed permanently or for a time."""
    found = cli.backend.questions()
    if cli.json:
        echo_json(found)
        return
    parts = [_waiting(found["questions"]), _allowed(found["allowed"])]
    click.echo("\n\n".join(filter(None, parts)) or "nothing waits for an answer")


@approvals.command("approve", epilog="Example: ocw approvals approve q-0123456789ab --always")
@click.argument("question", metavar="[ID]", default="")
@click.option("--always", "how", flag_value="always", help="Also add the command to the list of allowed ones.")
@click.option("--for-a-time", "how", flag_value="for", help="Allow exactly this command for tools.exec.approvalFor.")
@json_option
@pass_cli
def approve(cli: CliContext, question: str, how: str | None) -> None:
    """Let a command run; by default once."""
    _print_result(cli, cli.backend.decide(question, how or "once"))


@approvals.command("deny", epilog="Example: ocw approvals deny q-0123456789ab")
@click.argument("question", metavar="[ID]", default="")
@json_option
@pass_cli
def deny(cli: CliContext, question: str) -> None:
    """Do not let a command run; the agent learns of it."""
    _print_result(cli, cli.backend.decide(question, "deny"))


@approvals.command("answer", epilog='Example: ocw approvals answer q-0123456789ab "the second one"')
@click.argument("question", metavar="ID")
@click.argument("text")
@json_option
@pass_cli
def answer(cli: CliContext, question: str, text: str) -> None:
    """Answer what an agent asked, with the number of a choice or in words."""
    _print_result(cli, cli.backend.answer(question, text))


@approvals.command("revoke", epilog="Example: ocw approvals revoke 'git status' --agent main")
@click.argument("what", metavar="PATTERN")
@click.option("--agent", "agent_id", metavar="ID", default="main", show_default=True, help="Whose permission.")
@json_option
@pass_cli
def revoke(cli: CliContext, what: str, agent_id: str) -> None:
    """Take back what was allowed always (by its pattern) or for a time (by its operation)."""
    done = cli.backend.revoke_approval(agent_id, what)
    if cli.json:
        echo_json(done)
    else:
        click.echo(f"{printable(what)} is no longer allowed")


def _print_result(cli: CliContext, done: dict[str, Any]) -> None:
    if cli.json:
        echo_json(done)
    else:
        click.echo(f"{done['id']}: {printable(done['text'])}")


def _waiting(questions: list[dict[str, Any]]) -> str:
    rows = [
        (
            each["id"],
            each["kind"],
            printable(each["command"] or each["text"]),
            printable(" | ".join(each["choices"])),
            each["sessionKey"],
            age(each["askedAt"]),
        )
        for each in questions
    ]
    return table(("QUESTION", "KIND", "WHAT", "CHOICES", "SESSION", "ASKED"), rows) if rows else ""


def _allowed(allowed: list[dict[str, Any]]) -> str:
    rows = [
        (
            each["agentId"],
            printable(each["pattern"]),
            "always" if each["until"] is None else f"{printable(each['cwd'])}, operation {each['operation']}",
            printable(each["by"]),
        )
        for each in allowed
    ]
    return table(("AGENT", "ALLOWED", "WHEN", "BY"), rows) if rows else ""
