"""Slash commands about the model of a session, and about how much is shown of its work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from openclaw_workers.config.base import Thinking
from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.model_names import (
    display_names,
    find_model,
    find_profile,
    has_key,
    split_profile,
    usable_models,
)
from openclaw_workers.config.resolve import default_model, model_aliases, resolve_agent, resolve_model
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.errors import BadInput, ProviderError

CLEARING = ("default", "reset", "clear")
PIN = "authProfilePin"
"""Row field: the only key that is used for its provider, as provider/profile."""
# With the key that the session stayed with: the prompt cache behind it belongs to the old model.
_NO_MODEL = dict.fromkeys(("providerOverride", "modelOverride", "authProfileOverride"), "")
_SILENT_THINKERS = ("offline", "cli")
"""Providers whose models show nothing of what they think."""


def model(ctx: CommandContext, argument: str) -> str:
    """`/model`: show, choose, or list."""
    settings, wanted = ctx.settings, argument.strip()
    if not wanted:
        pinned = pinned_key(ctx)
        key = f", key {pinned}" if pinned else ""
        return f"Model: {current_model(ctx)}{key}. Usage: /model [name[@profile]|default|list]"
    if wanted.lower() == "list":
        return _list(ctx)
    if wanted.lower() in CLEARING:
        ctx.patch("model", {**_NO_MODEL, **_unpinned(ctx)})
        return f"Model set: {current_model(ctx)}."
    chosen, profile = split_profile(settings, wanted)
    full = find_model(settings, chosen)
    provider, _, name = full.partition("/")
    pin = {PIN: _checked_pin(ctx, f"{provider}/{profile}")} if profile else _unpinned(ctx)
    ctx.patch("model", {**_NO_MODEL, "providerOverride": provider, "modelOverride": name, **pin})
    key = f", key {pin[PIN]}" if profile else ""
    missing = f" No key for {provider} is configured; the agent needs one of its own."
    return f"Model set: {full}{key}." + ("" if profile or has_key(settings, full) else missing)


def pinned_key(ctx: CommandContext) -> str:
    """The key that the session is pinned to, as provider/profile; "" if it is not."""
    row = ctx.row()
    return (row and row.auth_profile_pin) or ""


def _checked_pin(ctx: CommandContext, name: str) -> str:
    if not _is_owner(ctx):
        raise BadInput("only an owner may choose the key of a session", hint="leave out @ and what follows")
    return find_profile(ctx.settings, name, agent_of(ctx.session))


def _unpinned(ctx: CommandContext) -> dict[str, str]:
    """A model that is chosen without a key ends the pin, unless somebody chooses it who may not choose keys."""
    return {PIN: ""} if _is_owner(ctx) else {}


def _is_owner(ctx: CommandContext) -> bool:
    return ctx.caller.command_authority.covers(Authority.OWNER)


def current_model(ctx: CommandContext) -> str:
    """The model of the session's next turn, and whether it is the default one."""
    chosen = _chosen(ctx.row())
    if chosen:
        return resolve_model(ctx.settings, chosen)
    return f"{_default(ctx)} (default)"


def _list(ctx: CommandContext) -> str:
    settings = ctx.settings
    current = current_model(ctx).removesuffix(" (default)")
    known = list(dict.fromkeys([current, *usable_models(settings)]))
    names: dict[str, list[str]] = {}
    for alias, full in model_aliases(settings).items():
        names.setdefault(full, []).append(alias)
    every = sorted({*known, *names})
    shown = {full: f"({name})" for full, name in display_names(settings).items()}
    labels = {full: " ".join(filter(None, [", ".join(names.get(full, [])), shown.get(full, "")])) for full in every}
    lines = [f"{'*' if full == current else ' '} {full}  {words}".rstrip() for full, words in labels.items()]
    remote = sorted({full.partition("/")[0] for full in every} - {*_SILENT_THINKERS})
    return "\n".join([*lines, *([f"Other models of {', '.join(remote)} may be named too."] if remote else [])])


def _chosen(row: SessionEntry | None) -> str:
    if row is None or not row.model_override:
        return ""
    return f"{row.provider_override}/{row.model_override}" if row.provider_override else row.model_override


def _default(ctx: CommandContext) -> str:
    settings = ctx.settings
    agent = resolve_agent(settings, agent_of(ctx.session), default_model=default_model(settings, os.environ))
    return agent.primary


@dataclass(frozen=True, slots=True)
class Level:
    """One setting of a session that is a word out of a few."""

    name: str
    column: str
    values: Sequence[str]
    unset: Callable[[CommandContext], str]
    """What holds while it is not set."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    remark: Callable[[CommandContext, str], str] = lambda ctx, value: ""

    def __call__(self, ctx: CommandContext, argument: str) -> str:
        word = argument.strip().lower()
        title = self.name.capitalize()
        if not word:
            return f"{title}: {self._in_force(ctx)}. Usage: /{self.name} [{'|'.join(self.values)}|default]"
        if word in CLEARING:
            ctx.patch(self.name, {self.column: ""})
            return f"{title} set: {self._in_force(ctx)}."
        value = self.checked(word)
        ctx.patch(self.name, {self.column: value})
        return f"{title} set: {value}.{self.remark(ctx, value)}"

    def checked(self, word: str) -> str:
        """The level that a word stands for.

        Raises:
            BadInput: none.
        """
        word = word.strip().lower()
        value = self.aliases.get(word, word)
        if value in self.values:
            return value
        guess = did_you_mean(word, self.values)
        meant = f" ({guess})" if guess else ""
        raise BadInput(f"{word!r} is not a level of /{self.name}; expected one of {', '.join(self.values)}{meant}")

    def _in_force(self, ctx: CommandContext) -> str:
        value = ctx.reader.row(ctx.session).get(self.column)
        return value or f"{self.unset(ctx)} (default)"


def _thinking_default(ctx: CommandContext) -> str:
    return resolve_agent(ctx.settings, agent_of(ctx.session)).thinking_default


def _takes_no_level(ctx: CommandContext, value: str) -> str:
    """What to say to people who set a level that their model never receives."""
    name = current_model(ctx).removesuffix(" (default)")
    provider, _, model = name.partition("/")
    if value == "off":
        return ""
    if provider in _SILENT_THINKERS:
        return f" {name} has no thinking levels."
    try:
        found = Catalog(ctx.settings.models).model(provider, model)
    except ProviderError:
        return ""  # the next turn tells
    setting = f"models.providers.{provider}.models[].reasoning"
    return "" if found.reasoning else f" {name} has no thinking levels, according to {setting}."


def _what_is_thought(ctx: CommandContext, value: str) -> str:
    name = current_model(ctx).removesuffix(" (default)")
    if value != "off" and name.partition("/")[0] in _SILENT_THINKERS:
        return f" {name} does not show its thinking."
    row = ctx.row()
    level = (row.thinking_level if row else None) or _thinking_default(ctx)
    return " Thinking is off; /think sets it." if value != "off" and level == "off" else ""


think = Level("think", "thinkingLevel", get_args(Thinking), _thinking_default, remark=_takes_no_level)
reasoning = Level("reasoning", "reasoningLevel", ("off", "on", "stream"), lambda _: "off", remark=_what_is_thought)
verbose = Level("verbose", "verboseLevel", ("off", "on", "full"), lambda _: "on")
usage = Level("usage", "responseUsage", ("off", "tokens", "full"), lambda _: "off", aliases={"on": "tokens"})
