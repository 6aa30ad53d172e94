"""Plugins and MCP servers of the workers, as JSON answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.errors import TransientError
from openclaw_workers.views.worker_reports import plugin_problems, plugins_json, servers_json

if TYPE_CHECKING:
    from openclaw_workers.domain.worker_info import WorkerInfo
    from openclaw_workers.queries.installation import Installation


def plugins_answer(installation: Installation) -> dict[str, Any]:
    return {"ok": True, "workers": plugins_json(_reported(installation))}


def plugin_check(installation: Installation) -> dict[str, Any]:
    """Raises:
    TransientError: no worker runs that could be asked.
    """
    workers = plugins_json(_reported(installation))
    # Without workers nothing was checked, and "no problems" would be wrong.
    if not workers:
        raise TransientError("no worker is running, so nobody has loaded a plugin", hint="start one with `ocw up`")
    problems = list(plugin_problems(workers))
    return {"ok": not problems, "workers": len(workers), "problems": problems}


def mcp_answer(installation: Installation) -> dict[str, Any]:
    return {"ok": True, "workers": servers_json(_reported(installation))}


def _reported(installation: Installation) -> list[tuple[WorkerInfo, dict[str, str]]]:
    """The live workers with their reports."""
    workers = installation.stores.workers
    alive = sorted((info for info in workers.all() if info.alive), key=lambda info: info.id)
    return list(zip(alive, workers.reports([info.id for info in alive]), strict=True))
