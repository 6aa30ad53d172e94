"""How much may be spent, and how fast."""

from __future__ import annotations

from pydantic import Field, StrictFloat, StrictInt

from openclaw_workers.config.base import Section


class BudgetSettings(Section):
    tokens: StrictInt | None = Field(default=None, ge=1)
    """Tokens, read and written."""

    cost: StrictFloat | None = Field(default=None, gt=0)
    """Dollars, by the prices of the models."""

    calls: StrictInt | None = Field(default=None, ge=1)
    """Model calls."""

    seconds: StrictInt | None = Field(default=None, ge=1)
    """Seconds that model calls and tools take in all."""


class BudgetsSettings(Section):
    day: BudgetSettings = BudgetSettings()
    """Of the whole installation, per day (UTC)."""

    tree: BudgetSettings = BudgetSettings()
    """Of one session with all the sub-agents below it, per day (UTC)."""


class LimitSettings(Section):
    requests_per_minute: StrictInt | None = Field(default=None, ge=1)
    """Calls the whole fleet makes in a minute; unset: no limit."""

    tokens_per_minute: StrictInt | None = Field(default=None, ge=1)
    """Tokens the whole fleet asks for in a minute, by estimate."""

    concurrent: StrictInt | None = Field(default=None, ge=1)
    """Calls the whole fleet makes at a time."""
