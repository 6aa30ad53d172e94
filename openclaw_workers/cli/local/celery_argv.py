"""The Celery command line of a worker."""

from __future__ import annotations

import secrets
import sys

from openclaw_workers.domain.runs import Lane

CELERY = (sys.executable, "-P", "-m", "openclaw_workers.tasks")
"""`-P` keeps Python from importing modules of the current directory, which belongs to some other project."""


def celery_argv(
    lane: Lane,
    concurrency: int,
    *,
    pool: str = "threads",
    loglevel: str = "INFO",
    events: bool = True,
) -> list[str]:
    """One worker for one lane; the configuration is in its environment."""
    # Flower mixes up two workers on a host if they have the same name.
    name = f"{lane}-{secrets.token_hex(2)}@%h"
    return [
        *(*CELERY, "-q", "-A", "openclaw_workers.tasks.app", "worker"),
        *("-Q", str(lane), "-P", pool, "-c", str(concurrency), "-n", name, "-l", loglevel),
        # Workers find each other through Redis. Gossip and mingle only cost messages and time at the start.
        *("--without-gossip", "--without-mingle", *(["-E"] if events else [])),
    ]
