"""`make bench`: all measurements in one run, printed, and written as JSON."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import measures, trees
from benchmarks.goals import GOALS, judged, line
from benchmarks.stage import stage

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    wanted = sys.argv[1:]
    report: dict[str, Any] = {"python": platform.python_version(), "at": int(time.time())}
    with stage(events=False) as quiet:
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "turn_overhead": lambda: measures.turn_overhead(quiet),
            "throughput": lambda: measures.throughput(quiet),
            "concurrent_turns": lambda: measures.concurrent_turns(quiet),
            "long_transcripts": lambda: measures.long_transcripts(quiet),
            "fan_out": lambda: trees.fan_out(quiet),
            "spawns": lambda: trees.spawns(quiet),
            "start_up": measures.start_up,
        }
        for name, measure in parts.items():
            if wanted and name not in wanted:
                continue
            report[name] = judged(measure(), GOALS.get(name, {}))
            print(line(name, report[name]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {RESULTS / 'latest.json'}")


if __name__ == "__main__":
    main()
