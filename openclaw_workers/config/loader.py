"""Load the settings from file and environment and validate them, in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw_workers.config.access_checks import check_open_channels, check_routed_agents
from openclaw_workers.config.cross_checks import check_agents, check_agents_caps, check_lane_caps, known_aliases
from openclaw_workers.config.env_vars import EnvExpansion, ExpandedText
from openclaw_workers.config.files import find_file, read_file
from openclaw_workers.config.model_checks import check_providers, known_models
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.problems import describe, validate
from openclaw_workers.config.schema_tree import Loc, dotted, leaves
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import BadInput, ConfigurationError

ENVIRONMENT: dict[str, Loc] = {
    "REDIS_URL": ("redis", "url"),
    "QDRANT_URL": ("qdrant", "url"),
    "QDRANT_API_KEY": ("qdrant", "apiKey"),
    "ANTHROPIC_API_KEY": ("models", "providers", "anthropic", "apiKey"),
    "ANTHROPIC_BASE_URL": ("models", "providers", "anthropic", "baseUrl"),
    "OPENAI_API_KEY": ("models", "providers", "openai", "apiKey"),
    "OPENAI_BASE_URL": ("models", "providers", "openai", "baseUrl"),
    "TELEGRAM_BOT_TOKEN": ("channels", "telegram", "botToken"),
    "BRAVE_API_KEY": ("tools", "web", "search", "brave", "apiKey"),
    "TAVILY_API_KEY": ("tools", "web", "search", "tavily", "apiKey"),
}
"""Environment variables that set a secret or a URL; they take precedence over the file."""

_CHECKS = (
    check_agents,
    check_agents_caps,
    check_lane_caps,
    check_providers,
    check_routed_agents,
    check_open_channels,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The effective settings and where they came from."""

    settings: Settings
    source: Path | None
    """The file; None if all values are defaults or come from the environment."""
    origins: dict[str, str]
    """By dotted path: `file`, `environment REDIS_URL` or `default`."""
    state_dir: Path
    """Where this installation keeps its files."""


def load(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    state_dir: Path | None = None,
) -> Loaded:
    """Find, read and validate the configuration.

    Raises:
        ConfigurationError: the configuration is not valid; it lists every problem.
        BadInput: there is no working directory, or no home for the state directory.
    """
    env = os.environ if env is None else env
    cwd = (cwd or working_dir()).absolute()
    state = find_state_dir(state_dir, env, cwd)
    source = find_file(path, env, cwd=cwd, state_dir=state)
    expansion, normaliser = EnvExpansion(env), Normaliser()
    tree = normaliser.apply(_read(source, expansion) if source else {}, Settings)
    from_env = _overlay(tree, env, normaliser)
    problems = [f"{where}: {what}" for where, what in expansion.problems.items()] + normaliser.problems
    for check in _CHECKS:
        problems += check(tree, normaliser)
    context = {
        "aliases": known_aliases(tree),
        "providers": known_models(tree),
        "base_dir": source.parent if source else cwd,
        "home": env.get("HOME"),
    }
    settings = validate(Settings, tree, context)
    if isinstance(settings, list):
        found = describe(settings, normaliser)
        problems += [f"{where}: {what}" for where, what in found if where not in expansion.problems]
    if problems or isinstance(settings, list):
        hint = "fix them and run `ocw config check`; `ocw config example` shows every setting"
        raise ConfigurationError(problems, source=str(source) if source else None, hint=hint)
    return Loaded(settings, source, _origins(settings, from_env), state)


def _read(source: Path, expansion: EnvExpansion) -> dict[str, Any]:
    try:
        tree: dict[str, Any] = expansion.apply(read_file(source))
    except RecursionError as error:
        problem = f"{source.name}: nested too deeply, or an anchor contains itself"
        raise ConfigurationError([problem], source=str(source)) from error
    return tree


def working_dir() -> Path:
    """The directory that relative paths start from.

    Raises:
        BadInput: it was deleted, or this user may not read it.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise BadInput(
            f"the working directory cannot be used: {error.strerror}", hint="`cd` to one that exists"
        ) from error


def find_state_dir(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Find the state directory: `explicit`, else OPENCLAW_STATE_DIR, else `~/.openclaw-workers`.

    Raises:
        BadInput: the path starts with the home directory of a user who has none.
    """
    try:
        chosen = explicit or env.get("OPENCLAW_STATE_DIR") or default_state_dir(env)
        return cwd / Path(chosen).expanduser()
    except RuntimeError as error:
        raise BadInput(
            f"there is no home directory for the state directory: {error}",
            hint="name another one with --state-dir or OPENCLAW_STATE_DIR",
        ) from error


def default_state_dir(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home()) / ".openclaw-workers"


def _overlay(tree: dict[str, Any], env: Mapping[str, str], normaliser: Normaliser) -> dict[Loc, str]:
    """Put values of the environment into the tree; return where each was put and its variable."""
    applied: dict[Loc, str] = {}
    for variable, loc in ENVIRONMENT.items():
        if not env.get(variable):
            continue
        holder: Any = tree
        for key in loc[:-1]:
            holder = holder.setdefault(key, {}) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            holder[loc[-1]] = ExpandedText(env[variable])
            applied[loc] = normaliser.written[loc] = f"environment {variable}"
    return applied


def _origins(settings: Settings, from_env: dict[Loc, str]) -> dict[str, str]:
    return {
        dotted(leaf.loc): from_env.get(leaf.loc) or ("file" if leaf.is_given else "default")
        for leaf in leaves(settings)
    }
