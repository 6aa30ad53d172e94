"""Sums of model calls as JSON."""

from __future__ import annotations

from typing import Any

from openclaw_workers.store.llm.ledger import Total


def total_json(total: Total) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    return {
        "name": total.name,
        "calls": total.calls,
        "failed": total.failed,
        "estimated": total.estimated,
        "input": total.input,
        "output": total.output,
        "cacheRead": total.cache_read,
        "cacheWrite": total.cache_write,
        "total": total.input + total.output + total.cache_read + total.cache_write,
        "cost": total.cost,
        "unpriced": total.unpriced,
        "milliseconds": total.milliseconds,
    }
