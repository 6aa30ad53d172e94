"""How much processor time a command takes, next to importing the three libraries that every command needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.stage import NOTHING, Stage

ROUNDS = 10
BASELINE = ("-c", "import click, redis, pydantic")
OCW = ("-c", "from openclaw_workers.cli.main import main; main()")
COMPLETE = {"_OCW_COMPLETE": "bash_complete", "COMP_WORDS": "ocw sta", "COMP_CWORD": "1"}


def client_start(stage: Stage) -> dict[str, Any]:
    """Median seconds of processor time, which a busy machine hardly changes. Rounds alternate between the commands."""
    commands: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
        "baseline": (BASELINE, NOTHING),
        "agent": ((*OCW, "agent", "-m", "hi"), NOTHING),
        "status": ((*OCW, "status"), NOTHING),
        "completion": (OCW, COMPLETE),
    }
    with stage.worker():
        for each in commands.values():
            cpu_seconds(*each)  # writes the bytecode, should it be missing
        times = {name: [cpu_seconds(*each) for _ in range(ROUNDS)] for name, each in commands.items()}
    middle = {name: median(each) for name, each in times.items()}
    ratios = {f"{name}_ratio": round(middle[name] / middle["baseline"], 2) for name in middle if name != "baseline"}
    return {**{f"{name}_seconds": round(each, 3) for name, each in middle.items()}, **ratios}


def cpu_seconds(arguments: Sequence[str], env: Mapping[str, str]) -> float:
    """What a command takes, by the kernel's account of the process."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return used.ru_utime + used.ru_stime
