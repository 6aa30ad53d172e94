"""Celery's commands to a worker, besides `revoke`: they do what they say here, or say what to do instead."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.control import Panel, control_command

log = structlog.get_logger(__name__)

RESTART = "lanes.LANE.concurrency and a restart of the worker change it"
INSTEAD = {"pool_grow": RESTART, "pool_shrink": RESTART, "autoscale": RESTART, "pool_restart": "restart the worker"}
"""Commands that not every pool carries out, and what to do then. Celery would log a traceback."""
REFUSED = {
    "time_limit": "turns end at agents.defaults.timeoutSeconds; a limit of Celery would kill the process of a turn",
    "rate_limit": "lanes.LANE.maxConcurrent limits turns; a run may need several wake-ups, and each would count",
}


def replace_commands() -> None:
    """Replace Celery's commands in the workers of this process."""
    control_command(name="shutdown")(shutdown)
    for name, instead in INSTEAD.items():
        control_command(name=name)(_explained(Panel.data[name], instead))
    for name, why in REFUSED.items():
        control_command(name=name)(_refused(name, why))


def shutdown(state: Any, **_: Any) -> dict[str, str]:
    """End as with SIGTERM: hand the turns over. Celery would wait for their ends, and tell nobody that it leaves."""
    log.info("worker.told_to_shut_down")
    os.kill(os.getpid(), signal.SIGTERM)
    return {"ok": "shutting down"}


def _explained(command: Callable[..., Any], instead: str) -> Callable[..., Any]:
    def explained(state: Any, **given: Any) -> Any:
        try:
            return command(state, **given)
        except (AttributeError, ValueError, NotImplementedError) as error:
            return {"error": f"this worker cannot do that ({error}); {instead}"}

    return explained


def _refused(name: str, why: str) -> Callable[..., Any]:
    def refused(state: Any, **_: Any) -> Any:
        return {"error": f"{name} is not used here: {why}"}

    return refused
