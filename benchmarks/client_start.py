"""How much processor time a command takes, next to importing three libraries that a client of Redis needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.processes import running
from benchmarks.stage import NOTHING, Stage

ROUNDS = 10
BASELINE = ("-c", "import click, redis, pydantic")
OCW = ("-c", "from openclaw_workers.cli.main import main; main()")
COMPLETE = {"_OCW_COMPLETE": "bash_complete", "COMP_WORDS": "ocw sta", "COMP_CWORD": "1"}


def client_start(stage: Stage) -> dict[str, Any]:
    """Median seconds of processor time, which a busy machine hardly changes. Rounds alternate between the commands.

    `agent` and `status` ask the ingress of a running `ocw up`; `agent_on_redis` has none, and opens Redis itself.
    """
    with stage.worker(), running(stage, "--no-flower") as (state_dir, _):
        return _measured(state_dir)


def _measured(state_dir: str) -> dict[str, Any]:
    here = (*OCW, "--state-dir", state_dir)
    with_ingress = dict.fromkeys(("REDIS_URL", "OPENCLAW_CONFIG", "OPENCLAW_STATE_DIR"), "")
    commands: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
        "baseline": (BASELINE, NOTHING),
        "agent": ((*here, "agent", "-m", "hi"), with_ingress),
        "status": ((*here, "status"), with_ingress),
        "agent_on_redis": ((*OCW, "agent", "-m", "hi"), NOTHING),
        "completion": (OCW, COMPLETE),
    }
    for each in commands.values():
        cpu_seconds(*each)  # writes the bytecode, should it be missing
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, each in commands.items():
            times[name].append(cpu_seconds(*each))
    middle = {name: median(each) for name, each in times.items()}
    ratios = {f"{name}_ratio": round(middle[name] / middle["baseline"], 2) for name in middle if name != "baseline"}
    return {**{f"{name}_seconds": round(each, 3) for name, each in middle.items()}, **ratios}


def cpu_seconds(arguments: Sequence[str], env: Mapping[str, str]) -> float:
    """What a command takes, by the kernel's account of the process."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **env},
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return used.ru_utime + used.ru_stime
