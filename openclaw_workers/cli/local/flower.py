"""Flower as a child of `ocw up`: on loopback, behind a generated password."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import urllib.request
from collections.abc import Collection, Mapping
from typing import Any

from openclaw_workers.cli.local.celery_argv import CELERY
from openclaw_workers.cli.local.child_spec import ChildSpec, Starter
from openclaw_workers.cli.local.saved_endpoint import LOOPBACK, SavedEndpoint
from openclaw_workers.cli.local.start_program import start_program

NAME = "flower"
DEFAULT_PORT = 5555
USER = "ocw"
MODULES = ("flower.command", "flower.app", "flower.urls", "celery.bin.celery", "kombu.transport.redis")
ASK_SECONDS = 4.0
"""It waits a second for the answers of all workers before it answers itself."""

_OWN_STAMP = re.compile(r"^\[[A-Z] \d{6} \d\d:\d\d:\d\d [\w.<>-]+:\d+\] ")


def url_of(endpoint: SavedEndpoint) -> str:
    return f"http://{LOOPBACK}:{endpoint.port}"


def flower_spec(
    endpoint: SavedEndpoint, env: Mapping[str, str], queues: Collection[str], start: Starter = start_program
) -> ChildSpec:
    """`queues`: those of the workers that are ready; Flower is ready when it shows all of them."""
    own = {
        # In the environment, not on the command line: the password must not show in `ps`.
        "FLOWER_BASIC_AUTH": f"{endpoint.user}:{endpoint.password}",
        "FLOWER_ADDRESS": LOOPBACK,
        "FLOWER_PORT": str(endpoint.port),
    }
    # By default Flower executes a flowerconfig.py of the working directory. Only one that is named may run.
    unless_set = {
        "FLOWER_CONF": os.devnull,
        # What fits into 1400 pixels. Times are written out on the page of a task.
        "FLOWER_TASKS_COLUMNS": "name,uuid,state,args,received,runtime,worker",
        "FLOWER_NATURAL_TIME": "True",
    }
    return ChildSpec(
        name=NAME,
        argv=(*CELERY, "-A", "openclaw_workers.tasks.app", "flower"),
        env={**unless_set, **env, **own},
        # Workers are recognised by their queues, because their names contain a random part.
        is_ready=lambda _pid: shown_queues(endpoint) >= {*queues},
        stop_rank=1,
        stop_seconds=5.0,
        start_attempts=1,
        is_shown=False,
        modules=MODULES,
        start=start,
        clean=lambda line: _OWN_STAMP.sub("", line),
    )


def shown_queues(endpoint: SavedEndpoint) -> set[str]:
    """The queues of the workers that our Flower shows; it is asked to look again for workers that it does not know.

    Flower looks for workers when it starts, and not again by itself.
    """
    answer = _ask(endpoint, "/api/workers?refresh=1")
    workers = answer.values() if isinstance(answer, dict) else ()
    return {str(queue.get("name")) for worker in workers for queue in worker.get("active_queues") or ()}


def _ask(endpoint: SavedEndpoint, path: str) -> Any:
    """None if it does not serve. The password shows that it is ours and not another one on the same port."""
    token = base64.b64encode(f"{endpoint.user}:{endpoint.password}".encode()).decode()
    headers = {"Authorization": f"Basic {token}"}
    request = urllib.request.Request(f"{url_of(endpoint)}{path}", headers=headers)  # noqa: S310
    # A proxy set in the environment cannot reach our loopback address.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ASK_SECONDS) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
