"""Measurements of session trees: how long a parent waits for its children, and how fast it spawns."""

from __future__ import annotations

import json
import statistics
from typing import Any

from benchmarks.stage import Stage
from openclaw_workers.engine.intake.accept import Queued

ONE_SECOND = json.dumps({"steps": [{"delayMs": 1000, "text": "x"}]})
AT_ONCE = json.dumps({"steps": [{"text": "x"}]})
FANS = (4, 8, 32)


def fan_out(stage: Stage, *, rounds: int = 5) -> dict[str, Any]:
    """(e) from the first spawn until the parent reads the announce; one-second children, a slot for each."""
    figures: dict[str, Any] = {}
    with stage.worker(lane="subagent", concurrency=32), stage.worker(lane="service"), stage.worker():
        _measure(stage, "e-warm-up", 32, ONE_SECOND)
        for children in FANS:
            times = [_measure(stage, f"e{children}-{number}", children, ONE_SECOND) for number in range(rounds)]
            figures[f"ratio_at_{children}"] = round(statistics.median(times), 2)
    return figures


def spawns(stage: Stage, *, rounds: int = 5, children: int = 32) -> dict[str, Any]:
    """(f) spawns per second: the duration of a tool call that spawns 32 children."""
    with stage.worker(lane="subagent", concurrency=8), stage.worker(lane="service"), stage.worker():
        times = []
        for number in range(rounds):
            sent = _spawning(stage, f"f{number}", children, AT_ONCE)
            stage.wait(sent)
            events = stage.cli.stores.reader.events(sent.session_key, "0", count=2000)
            began = next(event.at for event in events if event.type == "tool.started")
            ended = next(event.at for event in events if event.type == "tool.ended")
            times.append((ended - began) / 1000)
            announced(stage, sent)
    return {
        "per_second": round(children / statistics.median(times)),
        "ms_for_32": round(statistics.median(times) * 1000),
    }


def _spawning(stage: Stage, name: str, children: int, task: str) -> Queued:
    calls = [{"tool": "sessions_spawn", "input": {"task": task}}] * children
    steps = [{"calls": calls}, {"text": "spawned"}, {"text": "heard"}]
    return stage.send(name, json.dumps({"steps": steps}))


def _measure(stage: Stage, name: str, children: int, task: str) -> float:
    sent = _spawning(stage, name, children, task)
    return (announced(stage, sent) - spawned_at(stage, sent)) / 1000


def spawned_at(stage: Stage, sent: Queued) -> int:
    """When the first child was spawned."""
    events = stage.cli.stores.reader.events(sent.session_key, "0", count=2000)
    return next(event.at for event in events if event.type == "subagent.spawned")


def announced(stage: Stage, sent: Queued) -> int:
    """When the parent's turn that reads the results started."""
    last = "0"
    while True:
        for event in stage.cli.stores.reader.events(sent.session_key, last, block_ms=2000):
            last = event.id
            if event.type == "run.started" and any(each.startswith("announce-") for each in event.data["covers"]):
                return event.at
