"""Measurements of session trees: how long a parent waits for its children, and how fast it spawns."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.stage import Stage
from openclaw_workers.domain.accepted import Queued

ONE_SECOND = json.dumps({"steps": [{"delayMs": 1000, "text": "x"}]})
AT_ONCE = json.dumps({"steps": [{"text": "x"}]})
FANS = (4, 8, 32)
CHILDREN_PER_PARENT = 16
"""One session may have no more than 20; larger fans have several parents at once."""


def fan_out(stage: Stage, *, rounds: int = 5) -> dict[str, Any]:
    """(e) from the first spawn until each parent reads its announce; one-second children, a slot for each."""
    figures: dict[str, Any] = {}
    with stage.worker(lane="subagent", concurrency=32), stage.worker(lane="service"), stage.worker():
        _measure(stage, "e-warm-up", 32, ONE_SECOND)
        for children in FANS:
            times = [_measure(stage, f"e{children}-{number}", children, ONE_SECOND) for number in range(rounds)]
            figures[f"ratio_at_{children}"] = round(statistics.median(times), 2)
    return figures


def spawns(stage: Stage, *, rounds: int = 5, children: int = CHILDREN_PER_PARENT) -> dict[str, Any]:
    """(f) spawns per second: the duration of a tool call that spawns 16 children."""
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
        "ms_for_16": round(statistics.median(times) * 1000),
    }


def _spawning(stage: Stage, name: str, children: int, task: str) -> Queued:
    calls = [{"tool": "sessions_spawn", "input": {"task": task}}] * children
    steps = [{"calls": calls}, {"text": "spawned"}, {"text": "heard"}]
    return stage.send(name, json.dumps({"steps": steps}))


def _measure(stage: Stage, name: str, children: int, task: str) -> float:
    fan = [_spawning(stage, f"{name}-{at}", count, task) for at, count in enumerate(parents(children))]
    return fan_seconds(stage, fan)


def parents(children: int) -> list[int]:
    """How many children each parent of a fan spawns."""
    return [min(CHILDREN_PER_PARENT, children - at) for at in range(0, children, CHILDREN_PER_PARENT)]


def fan_seconds(stage: Stage, fan: Sequence[Queued]) -> float:
    """From the first spawn of a fan until the last of its parents reads the results."""
    read_at = max(announced(stage, sent) for sent in fan)
    return (read_at - min(spawned_at(stage, sent) for sent in fan)) / 1000


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
