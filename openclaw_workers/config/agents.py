"""Agents: the defaults for all of them, and what each one overrides."""

from __future__ import annotations

from pydantic import Field, StrictBool, StrictInt

from openclaw_workers.config.base import (
    WEEK_SECONDS,
    AgentId,
    FullModelRef,
    PromptMode,
    Section,
    Thinking,
    TimeZone,
    UserPath,
)
from openclaw_workers.config.budgets import BudgetSettings
from openclaw_workers.config.context import CompactionSettings, ContextPruningSettings
from openclaw_workers.config.heartbeat import HeartbeatSettings
from openclaw_workers.config.identity import IdentitySettings
from openclaw_workers.config.memory import MemorySearchSettings
from openclaw_workers.config.models import ListedModel, ModelChoice, ModelChoiceField
from openclaw_workers.config.sandbox import SandboxField, SandboxSettings
from openclaw_workers.config.subagents import SubagentsSettings
from openclaw_workers.config.tools import AgentToolsSettings
from openclaw_workers.config.workspace import WorkspaceField, WorkspaceSettings


class AgentSettings(Section):
    """The settings of `agents.defaults` and of every agent; an agent's own value wins."""

    model: ModelChoiceField = ModelChoice.model_construct()
    """Model as provider/model, or a mapping with fallbacks."""

    workspace: WorkspaceField = WorkspaceSettings()
    """The agent's workspace: a directory, or a mapping with path and place."""

    thinking_default: Thinking = "off"
    """How much the model thinks before it answers: off, minimal, low, medium, high, xhigh."""

    context_tokens: StrictInt | None = Field(default=None, ge=1)
    """How many tokens of context a turn may use; unset: the model's whole window."""

    timeout_seconds: StrictInt = Field(default=600, ge=0, le=WEEK_SECONDS)
    """Seconds a turn may take; 0 leaves only the general limit of one week."""

    user_timezone: TimeZone = "local"
    """Timezone of the people who use it."""

    prompt_mode: PromptMode | None = None
    """How much of the system prompt it gets: full, minimal or none; unset: minimal for sub-agents, else full."""

    bootstrap_max_chars: StrictInt = Field(default=20_000, ge=1)
    """Characters of one workspace file that go into the prompt."""

    bootstrap_total_max_chars: StrictInt = Field(default=150_000, ge=1)
    """Characters of all workspace files together."""

    extra_system_prompt: str = ""
    """Added to the system prompt; an agent's own text comes after that of the defaults."""

    skills: tuple[str, ...] | None = None
    """Skills offered, by name; unset means all, [] none."""

    tools: AgentToolsSettings = AgentToolsSettings.model_construct()
    """Tool policy of the agent; an agent's own block replaces the one in the defaults."""

    memory_search: MemorySearchSettings = MemorySearchSettings.model_construct()
    """Memory; an agent's own block replaces the one in the defaults."""

    compaction: CompactionSettings = CompactionSettings.model_construct()
    """How conversations that grow too long are summarised."""

    context_pruning: ContextPruningSettings = ContextPruningSettings.model_construct()
    """How old tool results are trimmed."""

    heartbeat: HeartbeatSettings | None = None
    """Turns the agent starts by itself; unset: only if its HEARTBEAT.md asks for something."""

    subagents: SubagentsSettings = SubagentsSettings.model_construct()
    """Sub-agents it may spawn."""

    budget: BudgetSettings = BudgetSettings.model_construct()
    """What this agent may spend per day (UTC)."""

    sandbox: SandboxField = SandboxSettings.model_construct()
    """Where its tools run; also accepts the words trusted (mode off) and restricted (mode all)."""

    identity: IdentitySettings = IdentitySettings.model_construct()
    """Its name, look and owners."""


class AgentDefaults(AgentSettings):
    models: dict[FullModelRef, ListedModel] = Field(default_factory=dict)
    """Models by provider/model, with their aliases."""


class AgentEntry(AgentSettings):
    id: AgentId
    """Name in session keys, directories and commands: a-z, 0-9, _ and -, at most 64."""

    default: StrictBool = False
    """Whether this agent answers when none is named; if no agent sets it, the first one does."""

    name: str | None = None
    """Name shown to people; unset: the id."""

    auth_dir: UserPath | None = None
    """Directory of this agent's own keys, in auth-profiles.json; unset: <state>/agents/<id>."""


class AgentProfile(AgentSettings):
    name: str | None = None
    """Name shown to people; unset: the id."""

    auth_dir: UserPath | None = None
    """Directory of this agent's own keys, in auth-profiles.json; unset: <state>/agents/<id>."""


class AgentsSettings(Section):
    default_agent: AgentId | None = None
    """Agent that answers when none is named; the same as default: true on its entry."""

    defaults: AgentDefaults = AgentDefaults.model_construct()
    """Settings of every agent that does not override them."""

    list: tuple[AgentEntry, ...] = ()
    """Agents in order; an empty list means one agent, main."""

    profiles: dict[AgentId, AgentProfile] = Field(default_factory=dict)
    """Agents by id: another way to write list, as a map."""
