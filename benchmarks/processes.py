"""`ocw up`: how soon it answers, and what its processes take together, forked from one or started apart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, cast

import psutil

from benchmarks.stage import MODEL, Stage, seconds
from openclaw_workers.cli.context import CliContext
from openclaw_workers.state_dir import Runtime, read_runtime
from tests.support.waiting import eventually

ROUNDS = 3
TURNS = 100
API = "anthropic-messages"
OCW = (sys.executable, "-m", "openclaw_workers.cli")
IMPORT = f"""
from importlib import import_module
from openclaw_workers.cli.local.workers import MODULES
for name in MODULES:
    import_module(name)
import_module("openclaw_workers.providers.remote").warm_up_api("{API}")
"""
SEND = "import sys; from benchmarks.processes import send_turns; send_turns(sys.argv[1])"


def first_answer(stage: Stage) -> dict[str, Any]:
    """Seconds from `ocw up` to the first answer, next to those in which one process imports a worker and the SDK."""
    importing, answering = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORT], check=True, env=_env())
        importing.append(seconds(begun))
        begun = time.perf_counter()
        with running(stage) as (state_dir, _):
            argv = [*OCW, "--state-dir", state_dir, "agent", "-m", "hi"]
            subprocess.run(argv, check=True, env=_env(), stdout=subprocess.DEVNULL)
            answering.append(seconds(begun))
    goal = 1.5 * median(importing) + 1
    return {
        "import_seconds": round(median(importing), 2),
        "first_answer_seconds": round(median(answering), 2),
        "ratio_to_goal": round(median(answering) / goal, 2),
    }


def memory(stage: Stage) -> dict[str, Any]:
    """Proportional megabytes of all processes but Redis after a hundred turns."""
    forked, apart = (_memory(stage, *options) for options in ((), ("--apart",)))
    return {
        "forked_megabytes": round(forked),
        "apart_megabytes": round(apart),
        "ratio": round(forked / apart, 2),
    }


def _memory(stage: Stage, *options: str) -> float:
    with running(stage, *options) as (state_dir, runtime):
        subprocess.run([sys.executable, "-c", SEND, state_dir], check=True, env=_env())
        up = psutil.Process(runtime.pid)
        processes = [up, *(each for each in up.children(recursive=True) if each.pid != runtime.pids["redis"])]
        return sum(each.memory_full_info().pss for each in processes) / 1_000_000


def send_turns(state_dir: str) -> None:
    """Run in a process of its own, because that of the benchmarks has another Redis in its environment."""
    stage = Stage(cast("Any", None), cast("Any", None), CliContext(state_dir=Path(state_dir)), Path(state_dir))
    for number in range(TURNS):
        stage.wait(stage.send(f"memory-{number % 10}"))


@contextmanager
def running(stage: Stage, *options: str) -> Iterator[tuple[str, Runtime]]:
    """`ocw up` with the model on the wire; it yields when messages are answered."""
    provider = {"baseUrl": stage.models.url, "api": API, "apiKey": "key", "models": [{"id": "m", **MODEL}]}
    config = {"models": {"providers": {"wired": provider}}, "agents": {"defaults": {"model": "wired/m"}}}
    with tempfile.TemporaryDirectory(prefix="ocw-bench-up-") as folder:
        (Path(folder) / "openclaw.yaml").write_text(json.dumps(config))
        argv = [*OCW, "--state-dir", folder, "up", *options]
        child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_env(), cwd=folder)
        try:
            yield folder, eventually(lambda: read_runtime(Path(folder)), within=120)
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(timeout=60)


def _env() -> dict[str, str]:
    hidden = ("REDIS_URL", "OPENCLAW_CONFIG", "OPENCLAW_STATE_DIR")
    return {name: value for name, value in os.environ.items() if name not in hidden}
