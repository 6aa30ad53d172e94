"""`ocw models`: which keys of which providers are left alone just now, and an end to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option, span, table
from openclaw_workers.errors import NotFound
from openclaw_workers.store.llm.cooldowns import Cooldown, CooldownList

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group(
    epilog="""\b
Examples:
  ocw models status                         which keys are paused, why and for how long
  ocw models resume anthropic               the bill is paid: try its keys again now
  ocw models resume anthropic/work          only that one
"""
)
def models() -> None:
    """Show which keys are paused after failures, and end a pause."""


@models.command("status", epilog="Example: ocw models status --json | jq '.profiles[] | select(.paused)'")
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """List providers and their keys, and the pauses they are in."""
    pauses, now = _pauses(cli).all()
    rows = [_facts(pause, now) for pause in pauses]
    paused = {(pause.provider, pause.profile) for pause in pauses}
    rows += [_ready(*each) for each in _configured(cli) if each not in paused]
    rows.sort(key=lambda row: (row["provider"], row["profile"], row["model"] or "", row["until"] or 0))
    if cli.json:
        echo_json({"ok": True, "at": now, "profiles": rows})
    elif rows:
        head = ("PROVIDER", "PROFILE", "MODEL", "STATE", "REASON", "ENDS IN")
        click.echo(table(head, [_row(row, now) for row in rows]))
    else:
        click.echo("no provider is configured; offline models and programs have no keys to pause")


@models.command("resume", epilog="Example: ocw models resume openai/work")
@click.argument("wanted", metavar="PROVIDER[/PROFILE]")
@json_option
@pass_cli
def resume(cli: CliContext, wanted: str) -> None:
    """End the pauses of a provider's keys, or of one key, for the whole fleet.

    What caused a pause may cause it again: the next call tells.
    """
    provider, _, profile = wanted.partition("/")
    store = _pauses(cli)
    pauses, now = store.all()
    ended = [pause for pause in pauses if pause.is_of(provider, profile)]
    known = {(pause.provider, pause.profile) for pause in pauses} | set(_configured(cli))
    if not any(name == provider and profile in ("", each) for name, each in known):
        raise NotFound(f"there is no {wanted}", hint="`ocw models status` lists providers and profiles")
    store.end(ended)
    if cli.json:
        echo_json({"ok": True, "resumed": [_facts(pause, now) for pause in ended]})
        return
    for pause in ended:
        of = f" {pause.model}" if pause.model else ""
        left = span(pause.until - now)
        click.echo(f"resumed {pause.provider}/{pause.profile}{of}: {pause.reason} had another {left}")
    if not ended:
        click.echo(f"nothing of {wanted} is paused")


def _pauses(cli: CliContext) -> CooldownList:
    return CooldownList(cli.stores.redis, cli.stores.keys)


def _configured(cli: CliContext) -> list[tuple[str, str]]:
    """The keys that all agents share; those of one agent's own are seen when they are paused."""
    found = []
    for name, given in cli.loaded.settings.models.providers.items():
        profiles = [profile.id for profile in given.auth_profiles]
        if given.api_key is not None or (not profiles and given.base_url):
            profiles.append("default")
        found += [(name, profile) for profile in dict.fromkeys(profiles)]
    return found


def _facts(pause: Cooldown, now: int) -> dict[str, Any]:
    """For programs; docs/cli.md lists the fields."""
    return {
        **_ready(pause.provider, pause.profile),
        "model": pause.model or None,
        "key": pause.key or None,
        "paused": True,
        "reason": str(pause.reason),
        "until": pause.until,
        "leftMs": pause.until - now,
    }


def _ready(provider: str, profile: str) -> dict[str, Any]:
    return {"provider": provider, "profile": profile, "model": None, "key": None, "paused": False} | {
        "reason": None,
        "until": None,
        "leftMs": None,
    }


def _row(facts: dict[str, Any], now: int) -> Sequence[object]:
    state = "paused" if facts["paused"] else "ready"
    left = span(facts["until"] - now) if facts["paused"] else ""
    return facts["provider"], facts["profile"], facts["model"], state, facts["reason"], left
