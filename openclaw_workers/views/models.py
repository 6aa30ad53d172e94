"""The API keys of providers as JSON: paused in a cooldown, or ready."""

from __future__ import annotations

from typing import Any

from openclaw_workers.store.llm.cooldowns import Cooldown


def cooldown_json(cooldown: Cooldown, now_ms: int) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    return {
        **ready_json(cooldown.provider, cooldown.profile),
        "model": cooldown.model or None,
        "key": cooldown.key or None,
        "paused": True,
        "reason": str(cooldown.reason),
        "until": cooldown.until,
        "leftMs": cooldown.until - now_ms,
    }


def ready_json(provider: str, profile: str) -> dict[str, Any]:
    """A key that is not paused."""
    return {
        "provider": provider,
        "profile": profile,
        "model": None,
        "key": None,
        "paused": False,
        "reason": None,
        "until": None,
        "leftMs": None,
    }
