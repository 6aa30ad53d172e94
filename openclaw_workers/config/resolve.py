"""Choose the agent and compute its effective settings: pure functions over `Settings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from openclaw_workers.config.agents import AgentEntry, AgentProfile, AgentSettings
from openclaw_workers.config.base import Section, Thinking
from openclaw_workers.config.heartbeat import HeartbeatSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.tools import AgentToolsSettings
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import DEFAULT_AGENT, agent_of
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import NotFound

OFFLINE_MODEL = "offline/demo"
_MODEL_BY_PROVIDER = {"anthropic": "anthropic/claude-opus-4-6", "openai": "openai/gpt-4o"}
_NOTHING_GIVEN = ProviderSettings()
_REPLACED_SECTIONS = ("tools", "memory_search")
"""Sections where an agent's own block replaces the one in the defaults; others are merged key by key."""

_MERGED_TOOL_SECTIONS = ("loop_detection", "exec")
"""Sections of `tools` that are merged nevertheless, also with the top-level ones. Policies are not merged."""

SectionT = TypeVar("SectionT", bound=Section)


class AgentConfig(AgentSettings):
    """The effective settings of one agent."""

    id: str
    """Name in session keys, directories and commands."""

    name: str
    """Name shown to people."""

    auth_dir: Path | None = None
    """Directory of this agent's own keys, if configured."""

    primary: str
    """The model to call first, as provider/model. (`model` is the value from the file.)"""

    fallbacks: tuple[str, ...] = ()
    """The models to call next, as provider/model."""

    @property
    def heartbeat_or_default(self) -> HeartbeatSettings:
        """How it beats, also if only its HEARTBEAT.md makes it beat."""
        return self.heartbeat or HeartbeatSettings()


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a session or one message overrides; None keeps the agent's setting."""

    model: str | None = None
    fallbacks: tuple[str, ...] | None = None
    thinking: Thinking | None = None
    context_tokens: int | None = None
    timeout_seconds: int | None = None
    workspace: Path | None = None
    is_subagent: bool = False
    """A sub-agent's session uses the fallbacks of `subagents.model`, if there are any."""


def agent_ids(settings: Settings) -> list[str]:
    """All agents in the order of the file; just `main` if none is configured."""
    agents = settings.agents
    return [*(entry.id for entry in agents.list), *agents.profiles] or [DEFAULT_AGENT]


def default_agent_id(settings: Settings) -> str:
    """The agent that answers when none is named: the one marked as default, else the first."""
    marked = next((entry.id for entry in settings.agents.list if entry.default), None)
    return marked or settings.agents.default_agent or agent_ids(settings)[0]


def resolve_agent_id(settings: Settings, *, explicit: str | None = None, session_key: str | None = None) -> str:
    """Choose the agent: the named one, else the one in the session key, else the default one.

    Raises:
        NotFound: there is no agent of that name.
        BadInput: the session key starts with `agent:` but is not valid.
    """
    wanted = (explicit or "").strip().lower()
    if not wanted and session_key and session_key.lower().startswith("agent:"):
        wanted = agent_of(session_key)
    if not wanted:
        return default_agent_id(settings)
    known = agent_ids(settings)
    if wanted not in known:
        advice = did_you_mean(wanted, known) or f"there are {', '.join(known)}"
        raise NotFound(f"no agent {wanted!r}; {advice}", hint="agents are listed under agents.list")
    return wanted


def resolve_agent(
    settings: Settings,
    agent_id: str,
    *,
    session_overrides: Overrides | None = None,
    call: Overrides | None = None,
    default_model: str = OFFLINE_MODEL,
) -> AgentConfig:
    """Merge an agent's settings: defaults, then the agent's own, then the session's, then the message's.

    Raises:
        NotFound: there is no such agent.
    """
    agent = _configured(_Identity(settings), agent_id, default_model)
    for overrides in (session_overrides, call):
        if overrides and (changes := _changes(settings, agent, overrides)):
            agent = agent.model_copy(update=changes)
    chosen = agent.subagents.model if session_overrides and session_overrides.is_subagent else None
    if chosen and chosen.fallbacks is not None:
        agent = agent.model_copy(update={"fallbacks": _models(settings, chosen.fallbacks)})
    return agent


class _Identity:
    """Settings as a cache key: the same object, not an equal one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __hash__(self) -> int:
        return id(self.settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.settings is other.settings


@lru_cache(maxsize=256)  # merging takes 0.2 ms, which would be added to every turn
def _configured(key: _Identity, agent_id: str, default_model: str) -> AgentConfig:
    settings = key.settings
    agent_id = resolve_agent_id(settings, explicit=agent_id)
    entry = configured_agent(settings, agent_id)
    merged: AgentSettings = settings.agents.defaults
    # The path in the defaults is that of the default agent. Two agents must not share files by accident.
    if agent_id != default_agent_id(settings):
        merged = merged.model_copy(update={"workspace": merged.workspace.model_copy(update={"path": None})})
    if entry:
        # Added and not replaced: first the text of the defaults, then that of the agent.
        extra = _joined(merged.extra_system_prompt, entry.extra_system_prompt)
        merged = _merge(merged, entry).model_copy(update={"extra_system_prompt": extra})
    merged = merged.model_copy(update={"tools": _tools(settings, entry, merged.tools)})
    # Every value was validated with its own section.
    return AgentConfig.model_construct(
        **{name: getattr(merged, name) for name in AgentSettings.model_fields},
        id=agent_id,
        name=(entry.name if entry else None) or agent_id,
        auth_dir=entry.auth_dir if entry else None,
        primary=resolve_model(settings, merged.model.primary or default_model),
        fallbacks=_models(settings, merged.model.fallbacks or ()),
    )


def model_aliases(settings: Settings) -> dict[str, str]:
    """Map aliases, in lower case, to provider/model."""
    aliases = {alias.lower(): model for alias, model in settings.models.aliases.items()}
    for model, listed in settings.agents.defaults.models.items():
        if listed.alias:
            aliases.setdefault(listed.alias.lower(), model)
    return aliases


def resolve_model(settings: Settings, name: str) -> str:
    """Return `provider/model` for an alias; other names are returned unchanged."""
    return model_aliases(settings).get(name.lower(), name)


def default_model(settings: Settings, env: Mapping[str, str]) -> str:
    """The model of an agent that names none.

    It is the configured one; else that of the first provider with a key, from environment or file; else that of the
    first with a baseUrl; else the offline one. Servers are not asked which models they have.
    """
    configured = settings.agents.defaults.model.primary
    if configured:
        return resolve_model(settings, configured)
    providers = settings.models.providers
    for name in _MODEL_BY_PROVIDER:
        given = providers.get(name, _NOTHING_GIVEN)
        if env.get(f"{name.upper()}_API_KEY") or given.api_key or given.auth_profiles:
            return _first_model(settings, name)
    for name in [*_MODEL_BY_PROVIDER, *providers]:
        if providers.get(name, _NOTHING_GIVEN).base_url and (model := _first_model(settings, name)):
            return model
    return OFFLINE_MODEL


def _first_model(settings: Settings, provider: str) -> str:
    """The first listed model if the list is authoritative; else the provider's default, or "" if it has none."""
    given = settings.models.providers.get(provider, _NOTHING_GIVEN)
    if given.models and (given.base_url or settings.models.mode == "replace"):
        return f"{provider}/{given.models[0].id}"
    return _MODEL_BY_PROVIDER.get(provider, "")


def workspace_dir(settings: Settings, agent_id: str, state_dir: Path) -> Path:
    """The directory of an agent's files. It may not exist yet.

    Raises:
        NotFound: there is no such agent.
    """
    agent = resolve_agent(settings, agent_id)
    if agent.workspace.path:
        return agent.workspace.path
    is_default = agent.id == default_agent_id(settings)
    return state_dir / ("workspace" if is_default else f"workspace-{agent.id}")


def placed_workspaces(settings: Settings, state_dir: Path) -> dict[str, Path]:
    """The directories of the agents whose turns run only where their files are."""
    placed = [agent for agent in agent_ids(settings) if resolve_agent(settings, agent).workspace.place == "one"]
    return {agent: workspace_dir(settings, agent, state_dir) for agent in placed}


def lane_cap(settings: Settings, lane: Lane) -> int | None:
    """Turns that the whole fleet may run at a time on a lane; None means no cap."""
    match lane:
        case Lane.MAIN:
            return settings.lanes.main.max_concurrent
        case Lane.SUBAGENT:
            return settings.lanes.subagent.max_concurrent or settings.agents.defaults.subagents.max_concurrent
        case Lane.CRON:
            return settings.cron.max_concurrent
        case Lane.SERVICE:
            return None


def configured_agent(settings: Settings, agent_id: str) -> AgentEntry | AgentProfile | None:
    """What the configuration says of one agent; None if it says nothing."""
    listed = next((entry for entry in settings.agents.list if entry.id == agent_id), None)
    return listed or settings.agents.profiles.get(agent_id)


def _tools(settings: Settings, entry: AgentSettings | None, policy: AgentToolsSettings) -> AgentToolsSettings:
    layers = [settings.agents.defaults.tools, *([entry.tools] if entry else [])]
    merged = {name: getattr(settings.tools, name) for name in _MERGED_TOOL_SECTIONS}
    for layer in layers:
        merged = {name: _merge(base, getattr(layer, name)) for name, base in merged.items()}
    return policy.model_copy(update=merged)


def _merge(base: SectionT, over: Section) -> SectionT:
    """Override `base` with the fields that were set in `over`."""
    changes = {}
    # Only what somebody wrote: a default of the agent's section must not undo the general setting.
    for name in over.model_fields_set & type(base).model_fields.keys():
        new, old = getattr(over, name), getattr(base, name)
        both = isinstance(new, Section) and isinstance(old, Section) and name not in _REPLACED_SECTIONS
        changes[name] = _merge(old, new) if both else new
    return base.model_copy(update=changes)


def _joined(*texts: str) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def _models(settings: Settings, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(resolve_model(settings, name) for name in names)


def _changes(settings: Settings, agent: AgentConfig, overrides: Overrides) -> dict[str, object]:
    workspace = overrides.workspace and agent.workspace.model_copy(update={"path": overrides.workspace})
    changes = {
        "primary": resolve_model(settings, overrides.model) if overrides.model else None,
        "fallbacks": _models(settings, overrides.fallbacks) if overrides.fallbacks is not None else None,
        "thinking_default": overrides.thinking,
        "context_tokens": overrides.context_tokens,
        "timeout_seconds": overrides.timeout_seconds,
        "workspace": workspace,
    }
    return {name: value for name, value in changes.items() if value is not None}
