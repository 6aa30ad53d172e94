"""How much may be spent, and how fast."""

from __future__ import annotations

from pydantic import Field, StrictFloat, StrictInt

from openclaw_workers.config.base import Section


class BudgetSettings(Section):
    tokens: StrictInt | None = Field(default=None, ge=1)
    """Tokens, input and output."""

    cost: StrictFloat | None = Field(default=None, gt=0)
    """Dollars, by the models' prices."""

    calls: StrictInt | None = Field(default=None, ge=1)
    """Model calls."""

    seconds: StrictInt | None = Field(default=None, ge=1)
    """Total seconds of model calls and tools."""


class BudgetsSettings(Section):
    day: BudgetSettings = BudgetSettings.model_construct()
    """Budget of the whole installation, per day (UTC)."""

    tree: BudgetSettings = BudgetSettings.model_construct()
    """Budget of one session with all sub-agents below it, per day (UTC)."""


class LimitSettings(Section):
    requests_per_minute: StrictInt | None = Field(default=None, ge=1)
    """Calls per minute of the whole fleet; unset: no limit."""

    tokens_per_minute: StrictInt | None = Field(default=None, ge=1)
    """Estimated tokens per minute of the whole fleet."""

    concurrent: StrictInt | None = Field(default=None, ge=1)
    """Concurrent calls of the whole fleet."""
