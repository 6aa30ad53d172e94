"""The API keys of providers as JSON: paused in a cooldown, or ready."""

from __future__ import annotations

from typing import Any

from openclaw_workers.config.model_catalog import ModelInfo
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


def model_json(
    ref: str, info: ModelInfo | None, *, has_key: bool, name: str | None, aliases: list[str], agents: list[str]
) -> dict[str, Any]:
    """docs/cli.md describes the fields. Offline models and programs have no `info`."""
    return {
        "model": ref,
        "name": name,
        "aliases": aliases,
        "agents": agents,
        "hasKey": has_key,
        "contextWindow": info.context_window if info else None,
        "maxTokens": info.max_tokens if info else None,
        "images": info.images if info else None,
        "reasoning": info.reasoning if info else None,
        "cost": info.cost.model_dump(by_alias=True) if info and info.cost else None,
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
