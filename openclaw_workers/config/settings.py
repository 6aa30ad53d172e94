"""The whole configuration as one value."""

from __future__ import annotations

from pydantic import Field

from openclaw_workers.config.agents import AgentsSettings
from openclaw_workers.config.base import Section
from openclaw_workers.config.bindings import BindingSettings, CommandsSettings
from openclaw_workers.config.budgets import BudgetsSettings
from openclaw_workers.config.channels import ChannelsSettings
from openclaw_workers.config.cron import CronSettings
from openclaw_workers.config.engine import EngineSettings, LanesSettings, QdrantSettings, RedisSettings
from openclaw_workers.config.gateway import GatewaySettings
from openclaw_workers.config.mcp import McpSettings
from openclaw_workers.config.memory import MemorySettings
from openclaw_workers.config.metrics import MetricsSettings
from openclaw_workers.config.models import ModelsSettings
from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.config.queue import MessagesSettings
from openclaw_workers.config.session import SessionSettings
from openclaw_workers.config.skills import SkillsSettings
from openclaw_workers.config.tool_secrets import SecretName, SecretSettings
from openclaw_workers.config.tools import ToolsSettings
from openclaw_workers.config.webhooks import HooksSettings


class Settings(Section):
    """Everything that can be configured, with its default."""

    agents: AgentsSettings = AgentsSettings.model_construct()
    """The agents, their models and limits."""

    session: SessionSettings = SessionSettings.model_construct()
    """How messages are assigned to sessions, and when sessions are reset or removed."""

    bindings: tuple[BindingSettings, ...] = ()
    """Which agent answers where; the most specific binding wins. Unbound chats belong to the default agent."""

    commands: CommandsSettings = CommandsSettings.model_construct()
    """Who may give slash commands."""

    messages: MessagesSettings = MessagesSettings.model_construct()
    """How incoming messages are queued, and which ones in groups are answered."""

    lanes: LanesSettings = LanesSettings.model_construct()
    """How many turns run at a time."""

    engine: EngineSettings = EngineSettings.model_construct()
    """Leases, limits and timing of the engine."""

    tools: ToolsSettings = ToolsSettings.model_construct()
    """Tool policy for all agents."""

    plugins: PluginsSettings = PluginsSettings.model_construct()
    """Python packages that add tools."""

    mcp: McpSettings = McpSettings.model_construct()
    """MCP servers that add tools."""

    models: ModelsSettings = ModelsSettings.model_construct()
    """Providers, their keys and model names."""

    budgets: BudgetsSettings = BudgetsSettings.model_construct()
    """How much may be spent; a turn that would exceed a budget ends with a reply that says so."""

    memory: MemorySettings = MemorySettings.model_construct()
    """How answers cite memory."""

    skills: SkillsSettings = SkillsSettings.model_construct()
    """Instructions for single tasks, which agents read when they need them."""

    cron: CronSettings = CronSettings.model_construct()
    """Scheduled jobs."""

    channels: ChannelsSettings = ChannelsSettings.model_construct()
    """Chat channels."""

    gateway: GatewaySettings = GatewaySettings.model_construct()
    """The HTTP API and the web page."""

    metrics: MetricsSettings = MetricsSettings.model_construct()
    """Metrics for Prometheus."""

    hooks: HooksSettings = HooksSettings.model_construct()
    """Webhooks."""

    secrets: dict[SecretName, SecretSettings] = Field(default_factory=dict)
    """Secrets for tools, by name."""

    redis: RedisSettings = RedisSettings.model_construct()
    """The Redis server for queues and state."""

    qdrant: QdrantSettings = QdrantSettings.model_construct()
    """The memory index."""
