"""Limits and defaults for the sub-agents that an agent may spawn."""

from __future__ import annotations

from pydantic import Field, StrictBool, StrictInt

from openclaw_workers.config.base import MAX_DURATION_SECONDS, WEEK_SECONDS, Names, Section, Thinking
from openclaw_workers.config.models import ModelChoiceField


class SubagentsSettings(Section):
    max_spawn_depth: StrictInt = Field(default=2, ge=1, le=5)
    """Levels of sub-agents below a root session; 1 forbids nesting. Inherited: the lowest value on the path applies."""

    max_children_per_agent: StrictInt = Field(default=5, ge=1, le=20)
    """Unsettled children that one session may have."""

    max_tree_runs: StrictInt = Field(default=50, ge=1)
    """Unsettled runs in one whole tree. Inherited: the lowest value on the path applies."""

    max_concurrent: StrictInt | None = Field(default=None, ge=1)
    """Sub-agent turns that the whole fleet runs at a time; unset means no cap."""

    archive_after_minutes: StrictInt = Field(default=60, ge=0, le=MAX_DURATION_SECONDS // 60)
    """A kept child is archived this many minutes after its end; 0 means never."""

    run_timeout_seconds: StrictInt = Field(default=0, ge=0, le=WEEK_SECONDS)
    """Seconds a child may take if the call sets no limit; 0: only the agent's timeoutSeconds applies."""

    announce_timeout_ms: StrictInt = Field(default=120_000, gt=0, le=3_600_000)
    """Milliseconds that one attempt to deliver a result may take."""

    model: ModelChoiceField | None = None
    """Model of children, or a mapping with fallbacks of their own; unset: their agent's."""

    thinking: Thinking | None = None
    """Thinking level of children; unset: inherited."""

    project_files: StrictBool = False
    """Give children AGENTS.md, SOUL.md, TOOLS.md, IDENTITY.md and USER.md of their workspace in the prompt."""

    allow_agents: Names | None = None
    """Other agents that may be spawned; * means any. Unset: only the agent itself."""

    require_agent_id: StrictBool = False
    """Reject a spawn that does not name its agent."""
