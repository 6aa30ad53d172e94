"""Celery's `revoke` stops the run, as `ocw runs stop` does.

Celery keeps a revoked id in every worker and discards each message with that id. All wake-ups of a run have the same
id, so they would be discarded for hours and the session would be stuck. Here a revoke, by Flower or by `celery
control`, stops the run, and no message is discarded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import structlog
from celery import Task
from celery.worker.control import control_command
from celery.worker.request import Request

from openclaw_workers.domain.ids import RunId
from openclaw_workers.engine.client_graph import control_of
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.errors import NotFound
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.run_states import event_of
from openclaw_workers.tasks.settings import loaded, redis_url
from openclaw_workers.tasks.waker import CeleryWaker

log = structlog.get_logger(__name__)

REASON = "revoked"


class WakeRequest(Request):
    """A message that is discarded only when it expires, and whose events say how its run ended."""

    def revoked(self) -> bool:
        return bool(self.expires and super().revoked())

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002  # Celery's own name
        kind, shown = event_of(type, fields)
        super().send_event(kind, **shown)


class WakeTask(Task[Any, Any]):
    """The base of all tasks of the application."""

    Request = f"{__name__}:{WakeRequest.__name__}"


def replace_revoke() -> None:
    """Replace Celery's commands in the workers of this process."""
    control_command(variadic="task_id", signature="[id1 [id2 [... [idN]]]]")(revoke)
    control_command(variadic="task_id", args=[("signal", str)], signature="<signal> [id1 [id2 [... [idN]]]]")(terminate)


def revoke(state: Any, task_id: str | list[str], **_: Any) -> dict[str, str]:
    """Stop runs by their ids, whether they wait or are at work."""
    ids = sorted({task_id} if isinstance(task_id, str) else {*task_id})
    unknown = [each for each in ids if not _stop(state, RunId(each))]
    stopped = [f"stopped: {', '.join(each for each in ids if each not in unknown)}"] if len(unknown) < len(ids) else []
    return {"ok": "; ".join([*stopped, *([f"no such run: {', '.join(unknown)}"] if unknown else [])])}


def terminate(state: Any, signal: str, task_id: str | list[str], **_: Any) -> dict[str, str]:
    """Stop runs by their ids. No process is sent a signal: it runs turns of other sessions too."""
    return revoke(state, task_id)


def _stop(state: Any, run: RunId) -> bool:
    """Every worker of the fleet receives the command, so most find that another was faster."""
    try:
        stopped = _control().stop_run(run, reason=REASON)
    except NotFound:
        return False
    if stopped.run is not None:
        log.info("run.revoked", runId=run)
        # Otherwise Flower shows it as received: the worker that gets its wake-up finds nothing to do.
        state.consumer.event_dispatcher.send("task-revoked", uuid=run, terminated=False, signum=None, expired=False)
    return True


@cache
def _control() -> Control:
    """Made when it is first needed, also in the parent of a prefork pool, which carries no turns."""
    settings = loaded().settings
    stores = open_stores(settings, redis_url())
    return control_of(stores, CeleryWaker(app, stores.redis, settings.engine.namespace))
