"""What each worker has loaded and connected, as JSON, from the reports that workers send with their ticks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from openclaw_workers.store.workers import WorkerInfo

Json = dict[str, Any]


def plugins_json(workers: Iterable[WorkerInfo]) -> list[Json]:
    """docs/cli.md describes the fields."""
    return [{**_worker(info), "plugins": _part(info, "plugins")} for info in _alive(workers)]


def servers_json(workers: Iterable[WorkerInfo]) -> list[Json]:
    """Workers that use MCP servers; docs/cli.md describes the fields."""
    found = [{**_worker(info), "servers": _part(info, "mcp")} for info in _alive(workers)]
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


def _alive(workers: Iterable[WorkerInfo]) -> list[WorkerInfo]:
    return sorted((info for info in workers if info.alive), key=lambda info: info.id)


def _worker(info: WorkerInfo) -> Json:
    return {"worker": info.id, "host": info.facts.get("host", ""), "lane": info.facts.get("lane", "")}


def _part(info: WorkerInfo, name: str) -> list[Json]:
    try:
        part = json.loads(info.facts.get(name, "[]"))
    except ValueError:
        return []
    return part if isinstance(part, list) else []
