"""What each worker has loaded and connected, as JSON, from the reports that workers send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openclaw_workers.domain.worker_info import WorkerInfo

Json = dict[str, Any]


Reported = tuple[WorkerInfo, Mapping[str, str]]
"""A worker and its report."""


def plugins_json(reported: Iterable[Reported]) -> list[Json]:
    """docs/cli.md describes the fields."""
    return [{**_worker(info), "plugins": _part(report, "plugins")} for info, report in reported]


def servers_json(reported: Iterable[Reported]) -> list[Json]:
    """Workers that use MCP servers; docs/cli.md describes the fields."""
    found = [{**_worker(info), "servers": _part(report, "mcp")} for info, report in reported]
    return [each for each in found if each["servers"]]


def plugin_problems(workers: Sequence[Json]) -> Iterator[Json]:
    """What is wrong with the plugins of workers: some failed, or workers differ in what they have."""
    everywhere = {plugin["plugin"]: plugin["origin"] for worker in workers for plugin in worker["plugins"]}
    for worker in workers:
        here = {plugin["plugin"]: plugin for plugin in worker["plugins"]}
        for name, origin in sorted(everywhere.items()):
            if name not in here:
                yield _problem(worker, name, f"this worker does not have it, others do ({origin}); install it there")
                continue
            if here[name]["origin"] != origin:
                differs = f"this worker has {here[name]['origin']}, others have {origin}; install the same version"
                yield _problem(worker, name, differs)
            for problem in here[name]["problems"]:
                yield _problem(worker, name, problem)


def _problem(worker: Json, plugin: str, problem: str) -> Json:
    return {"worker": worker["worker"], "lane": worker["lane"], "plugin": plugin, "problem": problem}


def _worker(info: WorkerInfo) -> Json:
    return {"worker": info.id, "host": info.facts.get("host", ""), "lane": info.facts.get("lane", "")}


def _part(report: Mapping[str, str], name: str) -> list[Json]:
    try:
        part = json.loads(report.get(name, "[]"))
    except ValueError:
        return []
    return part if isinstance(part, list) else []
