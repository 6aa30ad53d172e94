"""What workers report of their plugins and MCP servers, and what is found wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.engine.worker.report import REPEAT_SECONDS, WorkerReport
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.views.worker_reports import plugin_problems, plugins_json, servers_json


def worker(name: str, **parts: Any) -> tuple[WorkerInfo, dict[str, str]]:
    info = WorkerInfo(WorkerId(name), True, 0, {"host": "h", "lane": "main"})
    return info, {part: json.dumps(value) for part, value in parts.items()}


def plugin(name: str, origin: str = "p 1", *problems: str) -> dict[str, Any]:
    return {"plugin": name, "origin": origin, "state": "loaded", "tools": [], "problems": list(problems)}


def test_a_report_is_sent_when_it_changes_and_now_and_then() -> None:
    now, parts = [100.0], [1]
    sent: list[Mapping[str, str]] = []
    report = WorkerReport({"list": lambda: parts}, sent.append, clock=lambda: now[0])

    for _ in range(2):
        report.send_if_due()
    parts.append(2)
    for _ in range(2):
        report.send_if_due()
    now[0] += REPEAT_SECONDS + 1
    report.send_if_due()

    assert [each["list"] for each in sent] == ["[1]", "[1, 2]", "[1, 2]"]


def test_a_report_that_could_not_be_sent_is_sent_again() -> None:
    sent: list[Mapping[str, str]] = []

    def send(texts: Mapping[str, str]) -> None:
        sent.append(texts)
        if len(sent) == 1:
            raise StoreUnavailable("away")

    report = WorkerReport({"list": lambda: [1]}, send, clock=lambda: 100.0)
    with pytest.raises(StoreUnavailable):
        report.send_if_due()
    report.send_if_due()
    report.send_if_due()

    assert len(sent) == 2


def test_workers_that_differ_or_failed_are_named() -> None:
    workers = plugins_json(
        [
            worker("h/1", plugins=[plugin("a"), plugin("c")]),
            worker("h/2", plugins=[plugin("a", "p 2"), plugin("b", "p 1", "no such module")]),
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
    broken = (WorkerInfo(WorkerId("h/1"), True, 0, {}), {"plugins": "{", "mcp": '{"a": 1}'})

    assert plugins_json([broken])[0]["plugins"] == []
    assert servers_json([broken]) == []
