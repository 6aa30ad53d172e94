"""What workers report of their plugins and MCP servers, and what is found wrong with it."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.worker.report import REPEAT_SECONDS, WorkerReport
from openclaw_workers.store.workers import WorkerInfo
from openclaw_workers.views.worker_reports import plugin_problems, plugins_json, servers_json


def worker(name: str, *, alive: bool = True, **parts: Any) -> WorkerInfo:
    facts = {"host": "h", "lane": "main", **{part: json.dumps(value) for part, value in parts.items()}}
    return WorkerInfo(WorkerId(name), alive, 0, facts)


def plugin(name: str, origin: str = "p 1", *problems: str) -> dict[str, Any]:
    return {"plugin": name, "origin": origin, "state": "loaded", "tools": [], "problems": list(problems)}


def test_a_part_is_sent_when_it_changes_and_now_and_then() -> None:
    now, parts = [100.0], [1]
    report = WorkerReport({"host": "h"}, {"list": lambda: parts}, clock=lambda: now[0])

    assert report.due() == {"host": "h", "list": "[1]"}
    assert report.due() == {"host": "h"}
    parts.append(2)
    assert report.due() == {"host": "h", "list": "[1, 2]"}
    now[0] += REPEAT_SECONDS + 1
    assert report.due() == {"host": "h", "list": "[1, 2]"}


def test_workers_that_differ_or_failed_are_named() -> None:
    workers = plugins_json(
        [
            worker("h/2", plugins=[plugin("a", "p 2"), plugin("b", "p 1", "no such module")]),
            worker("h/1", plugins=[plugin("a"), plugin("c")]),
            worker("h/3", alive=False, plugins=[plugin("z")]),
        ]
    )

    problems = [(each["worker"], each["plugin"], each["problem"][:24]) for each in plugin_problems(workers)]
    assert problems == [
        ("h/1", "a", "this worker has p 1, oth"),
        ("h/1", "b", "this worker does not hav"),
        ("h/2", "b", "no such module"),
        ("h/2", "c", "this worker does not hav"),
    ]


def test_a_report_that_cannot_be_read_is_empty() -> None:
    broken = WorkerInfo(WorkerId("h/1"), True, 0, {"plugins": "{", "mcp": '{"a": 1}'})

    assert plugins_json([broken])[0]["plugins"] == []
    assert servers_json([broken]) == []
