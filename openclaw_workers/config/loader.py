"""Load the settings and validate them: from a file and the environment, or from a published configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from openclaw_workers.config.access_checks import check_open_channels, check_routed_agents
from openclaw_workers.config.cross_checks import check_agents, check_agents_caps, check_lane_caps, known_aliases
from openclaw_workers.config.env_vars import EnvExpansion, ExpandedText
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.model_checks import check_providers, known_models
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.problems import describe, validate
from openclaw_workers.config.schema_tree import Loc, dotted, leaves
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.unset_variables import complete_without
from openclaw_workers.errors import ConfigurationError

ENVIRONMENT: dict[str, Loc] = {
    "REDIS_URL": ("redis", "url"),
    "OPENCLAW_NAMESPACE": ("engine", "namespace"),
    "QDRANT_URL": ("qdrant", "url"),
    "QDRANT_API_KEY": ("qdrant", "apiKey"),
    "ANTHROPIC_API_KEY": ("models", "providers", "anthropic", "apiKey"),
    "ANTHROPIC_BASE_URL": ("models", "providers", "anthropic", "baseUrl"),
    "OPENAI_API_KEY": ("models", "providers", "openai", "apiKey"),
    "OPENAI_BASE_URL": ("models", "providers", "openai", "baseUrl"),
    "TELEGRAM_BOT_TOKEN": ("channels", "telegram", "botToken"),
    "TELEGRAM_API_ROOT": ("channels", "telegram", "apiRoot"),
    "BRAVE_API_KEY": ("tools", "web", "search", "brave", "apiKey"),
    "TAVILY_API_KEY": ("tools", "web", "search", "tavily", "apiKey"),
}
"""Environment variables that set a secret, a URL or the namespace; they take precedence over the file."""

LOCAL_VARIABLES = ("REDIS_URL", "OPENCLAW_NAMESPACE")
"""Those that say where the configuration is; they are never part of it."""

SECRET_VARIABLES = tuple(name for name in ENVIRONMENT if name.endswith(("_API_KEY", "_TOKEN")))
"""Those that are secret; the others are addresses."""

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
    """By dotted path: `file`, `configuration 7`, `environment REDIS_URL` or `default`."""
    state_dir: Path
    """Where this installation keeps its files."""
    version: str = ""
    """The published configuration that these are; empty for those of a file."""
    unset: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Settings that were left out because variables are not set on this host: path to their names."""


def load(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    state_dir: Path | None = None,
) -> Loaded:
    """Find, read and validate the configuration file.

    Raises:
        ConfigurationError: the configuration is not valid; it lists every problem.
        BadInput: there is no working directory, or no home for the state directory.
    """
    return load_file(find_host(path, env=env, cwd=cwd, state_dir=state_dir))


def load_file(host: Host, *, allows_unset: bool = False) -> Loaded:
    """The settings by the file and the environment of this host.

    `allows_unset`: leave out settings whose variables are not set here, instead of reporting them.

    Raises:
        ConfigurationError: the configuration is not valid; it lists every problem.
    """
    expansion, normaliser = EnvExpansion(host.env, drops_unset=allows_unset), Normaliser()
    try:
        tree = normaliser.apply(expansion.apply(host.tree), Settings)
    except RecursionError as error:
        name = host.source.name if host.source else ""
        problem = f"{name}: nested too deeply, or an anchor contains itself"
        raise ConfigurationError([problem], source=str(host.source)) from error
    from_env = _overlay(tree, host.env, normaliser)
    return _validated(tree, host, expansion, normaliser, given="file", from_env=from_env)


def check_local(host: Host) -> None:
    """Check what is the host's own: the address of Redis and the namespace.

    Raises:
        ConfigurationError: one of them is not valid.
    """
    normaliser = Normaliser()
    tree: dict[str, Any] = {}
    if host.redis_url:
        put(tree, ("redis", "url"), ExpandedText(host.redis_url))
    if host.namespace:
        put(tree, ("engine", "namespace"), host.namespace)
    from_env = _overlay(tree, host.env, normaliser, names=LOCAL_VARIABLES)
    _validated(tree, host, EnvExpansion(host.env), normaliser, given="file", from_env=from_env)


def load_published(
    tree: dict[str, Any], host: Host, *, version: str, decided: Mapping[str, str] | None = None
) -> Loaded:
    """The settings by a published configuration, as they hold on this host.

    The address of Redis and the namespace are the host's own. Keys of services may be in its environment, where the
    configuration names none.

    Raises:
        ConfigurationError: this version of the program cannot read it.
    """
    expansion, normaliser = EnvExpansion(host.env, drops_unset=True), Normaliser()
    expanded = normaliser.apply(expansion.apply(tree), Settings)
    mine: dict[str, Any] = {"namespace": host.namespace} if host.namespace else {}
    # This process has found the configuration by its own address and namespace, so these are right.
    expanded["engine"] = {**expanded.get("engine", {}), **mine}
    expanded["redis"] = {"url": ExpandedText(host.redis_url)} if host.redis_url else {}
    from_env = _overlay(expanded, host.env, normaliser, only_missing=True, names=SECRET_VARIABLES)
    number = version.partition("-")[0]
    loaded = _validated(expanded, host, expansion, normaliser, given=f"configuration {number}", from_env=from_env)
    origins = {**loaded.origins, **{path: why for path, why in (decided or {}).items() if path in loaded.origins}}
    return replace(loaded, origins=origins, version=version)


def _validated(
    tree: dict[str, Any],
    host: Host,
    expansion: EnvExpansion,
    normaliser: Normaliser,
    *,
    given: str,
    from_env: dict[Loc, str],
) -> Loaded:
    problems = [f"{where}: {what}" for where, what in expansion.problems.items()] + normaliser.problems
    # Before the checks, which would report the settings that were left out on purpose.
    complete_without(tree, expansion.unset)
    for check in _CHECKS:
        problems += check(tree, normaliser)
    context = {
        "aliases": known_aliases(tree),
        "providers": known_models(tree),
        "base_dir": host.state_dir,
        "home": host.env.get("HOME"),
    }
    settings = validate(Settings, tree, context)
    if isinstance(settings, list):
        found = describe(settings, normaliser)
        # A variable that is not set has left an empty text, whose second problem would only confuse.
        problems += [f"{where}: {what}" for where, what in found if where not in expansion.problems]
    if problems or isinstance(settings, list):
        hint = "fix them and run `ocw config check`; `ocw config example` shows every setting"
        source = str(host.source) if given == "file" and host.source else None
        raise ConfigurationError(problems, source=source, hint=hint)
    return Loaded(
        settings,
        host.source,
        _origins(settings, from_env, given),
        host.state_dir,
        unset={dotted(loc): tuple(names) for loc, names in expansion.unset.items()},
    )


def _overlay(
    tree: dict[str, Any],
    env: Mapping[str, str],
    normaliser: Normaliser,
    *,
    names: Collection[str] = tuple(ENVIRONMENT),
    only_missing: bool = False,
) -> dict[Loc, str]:
    """Put values of the environment into the tree; return where each was put and its variable."""
    applied: dict[Loc, str] = {}
    for variable in names:
        loc = ENVIRONMENT[variable]
        if env.get(variable) and put(tree, loc, ExpandedText(env[variable]), only_missing=only_missing):
            applied[loc] = normaliser.written[loc] = f"environment {variable}"
    return applied


def put(tree: dict[str, Any], loc: Loc, value: Any, *, only_missing: bool = False) -> bool:
    """Put a value into a tree; says whether it could. `only_missing`: not where one stands already."""
    holder: Any = tree
    for key in loc[:-1]:
        holder = holder.setdefault(key, {}) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or (only_missing and loc[-1] in holder):
        return False
    holder[loc[-1]] = value
    return True


def _origins(settings: Settings, from_env: dict[Loc, str], given: str) -> dict[str, str]:
    return {
        dotted(leaf.loc): from_env.get(leaf.loc) or (given if leaf.is_given else "default") for leaf in leaves(settings)
    }
