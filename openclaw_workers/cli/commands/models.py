"""`ocw models`: the models that can be used, which API keys are in a cooldown after failures, and ending a cooldown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import span, table
from openclaw_workers.errors import describe_cooldown

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group(
    epilog="""\b
Examples:
  ocw models list                           models, their windows and prices
  ocw models status                         which keys are in cooldown, why and for how long
  ocw models resume anthropic               the bill is paid: use its keys again now
  ocw models resume anthropic/work          only this key
"""
)
def models() -> None:
    """List models; show which keys are in cooldown after failures, and end a cooldown."""


@models.command("list", epilog="Example: ocw models list --json | jq -r '.models[].model'")
@json_option
@pass_cli
def list_models(cli: CliContext) -> None:
    """List the models that agents use or people can choose, with window and price."""
    answer = cli.backend.models()
    if cli.json:
        echo_json(answer)
        return
    head = ("MODEL", "ALIAS", "USED BY", "WINDOW", "$/M IN", "$/M OUT", "KEY")
    click.echo(
        table(
            head,
            [_model_row(row) for row in answer["models"]],
            right=("WINDOW", "$/M IN", "$/M OUT"),
            cut=("ALIAS", "USED BY"),
        )
    )


@models.command("status", epilog="Example: ocw models status --json | jq '.profiles[] | select(.paused)'")
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """List providers and their keys, and which of them are in cooldown."""
    answer = cli.backend.keys()
    rows = answer["profiles"]
    if cli.json:
        echo_json(answer)
    elif rows:
        head = ("PROVIDER", "PROFILE", "MODEL", "STATE", "REASON", "ENDS IN")
        click.echo(table(head, [_row(row) for row in rows]))
    else:
        click.echo("no provider is configured; offline models and programs have no keys")


@models.command("resume", epilog="Example: ocw models resume openai/work")
@click.argument("wanted", metavar="PROVIDER[/PROFILE]")
@json_option
@pass_cli
def resume(cli: CliContext, wanted: str) -> None:
    """End the cooldowns of a provider's keys, or of one key, for the whole fleet.

    If the cause remains, the next failed call starts a new cooldown.
    """
    answer = cli.backend.resume_keys(wanted)
    if cli.json:
        echo_json(answer)
        return
    for each in answer["resumed"]:
        of = f" {each['model']}" if each["model"] else ""
        why = f"cooldown left: {span(each['leftMs'])} ({describe_cooldown(each['reason'])})"
        click.echo(f"resumed {each['provider']}/{each['profile']}{of}; {why}")
    if not answer["resumed"]:
        click.echo(f"{wanted} is not in cooldown")


def _model_row(model: dict[str, Any]) -> Sequence[object]:
    is_local = model["contextWindow"] is None
    cost = model["cost"]
    prices = (f"{cost['input']:g}", f"{cost['output']:g}") if cost else ("", "") if is_local else ("unknown", "unknown")
    window = f"{model['contextWindow'] // 1000}k" if model["contextWindow"] else ""
    key = "" if is_local else "yes" if model["hasKey"] else "missing"
    return model["model"], " ".join(model["aliases"]), " ".join(model["agents"]), window, *prices, key


def _row(profile: dict[str, Any]) -> Sequence[object]:
    state = "cooldown" if profile["paused"] else "ready"
    left = span(profile["leftMs"]) if profile["paused"] else ""
    reason = describe_cooldown(profile["reason"]) if profile["paused"] else ""
    return profile["provider"], profile["profile"], profile["model"], state, reason, left
