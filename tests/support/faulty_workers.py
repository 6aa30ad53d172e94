"""Workers for trees: one per lane, or rigged so that something goes wrong in them at a certain moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.support.fleet import Fleet, WorkerProcess

RIGGED = str(Path(__file__).parent / "rigged")
NO_SWEEP = {"engine": {"leaseSeconds": 3_600.0, "sweepSeconds": 900.0}}
"""Whatever needs the sweep is not done within a test."""


def staff(fleet: Fleet, *lanes: str, concurrency: int = 16, loglevel: str = "INFO") -> list[WorkerProcess]:
    """Start a worker for each lane named, and wait until all consume."""
    workers = [fleet.worker(lane, concurrency=concurrency, loglevel=loglevel, wait=False) for lane in lanes]
    fleet.ready(*workers)
    return workers


def rigged(
    *, die: str = "", slow: str = "", sign: str = "", gates: Path | None = None, deaf: bool = False
) -> dict[str, Any]:
    """The environment of a worker in which something goes wrong; see tests/support/rigged."""
    return {
        "PYTHONPATH": os.pathsep.join([RIGGED, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OCW_DIE": die,
        "OCW_SLOW": slow,
        "OCW_SIGN": sign,
        "OCW_GATES": str(gates or ""),
        "OCW_DEAF": "1" if deaf else "",
    }
