"""`make bench`: all measurements in one run, printed, and written as JSON.

`--events` switches Celery's task events on for both sides; an installation has them on by default.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import client_start, commands, ingress, measures, processes, scale, schedules, trees
from benchmarks.goals import GOALS, judged, line
from benchmarks.stage import stage

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    events = "--events" in sys.argv
    wanted = [word for word in sys.argv[1:] if word != "--events"]
    report: dict[str, Any] = {"python": platform.python_version(), "at": int(time.time()), "task_events": events}
    with stage(events=events) as where:
        from benchmarks import policy, wired  # imported late: it needs the addresses that the stage sets

        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "turn_overhead": lambda: measures.turn_overhead(where),
            "throughput": lambda: measures.throughput(where),
            "concurrent_turns": lambda: measures.concurrent_turns(where),
            "long_transcripts": lambda: measures.long_transcripts(where),
            "fan_out": lambda: trees.fan_out(where),
            "spawns": lambda: trees.spawns(where),
            "cpu_per_turn": lambda: wired.cpu_per_turn(where),
            "connections": lambda: wired.connections(where),
            "busy_sessions": lambda: wired.busy_sessions(where),
            "wired_fan_out": lambda: wired.wired_fan_out(where),
            "accepting": lambda: ingress.accepting(where),
            "accept_times": lambda: ingress.accept_times(where),
            "answering": lambda: ingress.answering(where),
            "viewers": lambda: ingress.viewers(where),
            "scale_sessions": lambda: scale.by_sessions(where),
            "scale_waiting": lambda: scale.by_waiting_messages(where),
            "scale_calls": lambda: scale.by_calls(where),
            "scale_due": lambda: scale.by_due_items(where),
            "scale_workers": lambda: scale.by_workers(where),
            "idle_jobs": lambda: schedules.idle_jobs(where),
            "due_burst": lambda: schedules.due_burst(where),
            "command_start": commands.command_start,
            "client_start": lambda: client_start.client_start(where),
            "policy": lambda: policy.policy(where),
            "start_up": measures.start_up,
            "first_answer": lambda: processes.first_answer(where),
            "memory_of_up": lambda: processes.memory(where),
        }
        for name, measure in parts.items():
            if wanted and name not in wanted:
                continue
            report[name] = judged(measure(), GOALS.get(name, {}))
            print(line(name, report[name]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / ("latest-events.json" if events else "latest.json")
    path.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
