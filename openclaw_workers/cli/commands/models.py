"""`ocw models`: which API keys are in a cooldown after failures, and ending a cooldown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option
from openclaw_workers.cli.render.text import span, table
from openclaw_workers.errors import NotFound
from openclaw_workers.store.llm.cooldowns import CooldownList
from openclaw_workers.views.models import cooldown_json, ready_json

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group(
    epilog="""\b
Examples:
  ocw models status                         which keys are paused, why and for how long
  ocw models resume anthropic               the bill is paid: use its keys again now
  ocw models resume anthropic/work          only this key
"""
)
def models() -> None:
    """Show which keys are paused after failures, and end a pause."""


@models.command("status", epilog="Example: ocw models status --json | jq '.profiles[] | select(.paused)'")
@json_option
@pass_cli
def show_status(cli: CliContext) -> None:
    """List providers and their keys, and which of them are paused."""
    pauses, now = _pauses(cli).all()
    rows = [cooldown_json(pause, now) for pause in pauses]
    paused = {(pause.provider, pause.profile) for pause in pauses}
    rows += [ready_json(*each) for each in _configured(cli) if each not in paused]
    rows.sort(key=lambda row: (row["provider"], row["profile"], row["model"] or "", row["until"] or 0))
    if cli.json:
        echo_json({"ok": True, "at": now, "profiles": rows})
    elif rows:
        head = ("PROVIDER", "PROFILE", "MODEL", "STATE", "REASON", "ENDS IN")
        click.echo(table(head, [_row(row) for row in rows]))
    else:
        click.echo("no provider is configured; offline models and programs have no keys to pause")


@models.command("resume", epilog="Example: ocw models resume openai/work")
@click.argument("wanted", metavar="PROVIDER[/PROFILE]")
@json_option
@pass_cli
def resume(cli: CliContext, wanted: str) -> None:
    """End the pauses of a provider's keys, or of one key, for the whole fleet.

    If the cause remains, the next failed call pauses the key again.
    """
    provider, _, profile = wanted.partition("/")
    store = _pauses(cli)
    pauses, now = store.all()
    ended = [pause for pause in pauses if pause.is_of(provider, profile)]
    known = {(pause.provider, pause.profile) for pause in pauses} | set(_configured(cli))
    if not any(name == provider and profile in ("", each) for name, each in known):
        raise NotFound(f"no provider or key {wanted}", hint="`ocw models status` lists them")
    store.end(ended)
    if cli.json:
        echo_json({"ok": True, "resumed": [cooldown_json(pause, now) for pause in ended]})
        return
    for pause in ended:
        of = f" {pause.model}" if pause.model else ""
        left = span(pause.until - now)
        click.echo(f"resumed {pause.provider}/{pause.profile}{of}; it was paused for another {left} ({pause.reason})")
    if not ended:
        click.echo(f"{wanted} is not paused")


def _pauses(cli: CliContext) -> CooldownList:
    return CooldownList(cli.stores.redis, cli.stores.keys)


def _configured(cli: CliContext) -> list[tuple[str, str]]:
    """The keys that all agents share. Keys of a single agent are listed only while they are paused."""
    found = []
    for name, given in cli.loaded.settings.models.providers.items():
        profiles = [profile.id for profile in given.auth_profiles]
        if given.api_key is not None or (not profiles and given.base_url):
            profiles.append("default")
        found += [(name, profile) for profile in dict.fromkeys(profiles)]
    return found


def _row(profile: dict[str, Any]) -> Sequence[object]:
    state = "paused" if profile["paused"] else "ready"
    left = span(profile["leftMs"]) if profile["paused"] else ""
    return profile["provider"], profile["profile"], profile["model"], state, profile["reason"], left
