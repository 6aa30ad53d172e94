"""Start one worker per lane, or workers in which something goes wrong at a certain moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.fleet import Fleet, WorkerProcess

FAULTY = str(Path(__file__).parent / "faulty")
NO_SWEEP = {"engine": {"leaseSeconds": 3_600.0, "sweepSeconds": 900.0}}
"""Nothing that needs the sweep happens during a test."""


def start_workers(fleet: Fleet, *lanes: str, concurrency: int = 16, loglevel: str = "INFO") -> list[WorkerProcess]:
    """Start a worker for each named lane and wait until all consume."""
    workers = [fleet.worker(lane, concurrency=concurrency, loglevel=loglevel, wait=False) for lane in lanes]
    fleet.ready(*workers)
    return workers


def place(method: Callable[..., Any]) -> str:
    """Where a method is, for `faulty`: derived from the method itself, so that a rename cannot leave it stale."""
    return f"{method.__module__}:{method.__qualname__}"


def faulty(
    *, die: str = "", slow: str = "", sign: str = "", gates: Path | None = None, ignores_ticks: bool = False
) -> dict[str, Any]:
    """The environment of a worker in which something goes wrong; see tests/support/faulty."""
    return {
        "PYTHONPATH": os.pathsep.join([FAULTY, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OCW_DIE": die,
        "OCW_SLOW": slow,
        "OCW_SIGN": sign,
        "OCW_GATES": str(gates or ""),
        "OCW_IGNORES_TICKS": "1" if ignores_ticks else "",
    }
