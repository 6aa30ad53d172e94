"""Connects Celery's lifecycle signals to our worker process, when this module is imported.

With the threads pool the process that consumes also runs the turns. With prefork each pool child is a worker of its
own, made after the fork. The parent starts no threads and only passes on that it must shut down.
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog
from celery.signals import (
    celeryd_after_setup,
    celeryd_init,
    setup_logging,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from openclaw_workers.domain.runs import Lane
from openclaw_workers.errors import ConfigurationError, StoreUnavailable
from openclaw_workers.logs import SUPERVISED_VARIABLE
from openclaw_workers.logs import setup_logging as setup_our_logging
from openclaw_workers.process_title import set_title
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import queue_name
from openclaw_workers.store.server_settings import unsafe_settings
from openclaw_workers.tasks.command_line import silence_full_redis_tracebacks, silence_shutdown_message
from openclaw_workers.tasks.consumed_queues import follow_queues
from openclaw_workers.tasks.kombu.acks import keep_acks_across_reconnects
from openclaw_workers.tasks.kombu.batch_fetch import use_batch_fetch
from openclaw_workers.tasks.lane_consumer import add_commands
from openclaw_workers.tasks.revoke import replace_revoke
from openclaw_workers.tasks.settings import loaded, redis_url, wait_for_configuration
from openclaw_workers.tasks.shared_text import SharedText
from openclaw_workers.tasks.worker import Worker, WorkerFacts, load_configured_plugins, load_models
from openclaw_workers.tasks.worker_commands import replace_commands

log = structlog.get_logger(__name__)


class _Current:
    """The worker of this process, and what was asked of it on the command line."""

    worker: Worker | None = None
    facts: WorkerFacts | None = None
    nodename = ""
    """Celery's name of this worker, for orders to it."""
    leaving: mmap.mmap
    """One byte that pool children share with their parent: it must reach them although Redis is away."""
    drained: mmap.mmap
    """One byte that tells whoever consumes, the parent of a pool too, that the worker is drained."""
    places: SharedText
    """Tells it which places have a queue of their own."""


def current_worker() -> Worker:
    assert _Current.worker is not None, "turns run only inside a started worker"
    return _Current.worker


@setup_logging.connect
def _logging(loglevel: int | str = "INFO", **_: Any) -> None:
    setup_our_logging(json=os.environ.get("OPENCLAW_LOG_FORMAT") == "json", level=loglevel)
    # Celery would add two lines to each run's own, and log wake-ups that found nothing to do.
    celery = ("celery.worker.strategy", "celery.app.trace", "celery.worker.consumer", "celery.apps.worker")
    # These would log each model call, and at DEBUG everything that was said in it.
    http = ("httpx2", "httpcore2", "anthropic", "openai", "mcp")
    for chatty in (*celery, *http):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    silence_shutdown_message()
    silence_full_redis_tracebacks()


@celeryd_init.connect
def _share_with_pool(**_: Any) -> None:
    """When a worker starts, not at import: forks of a process that has imported this module must not share them."""
    _Current.leaving = mmap.mmap(-1, 1)
    _Current.drained = mmap.mmap(-1, 1)
    _Current.places = SharedText()


@celeryd_init.connect
def _follow_queues(instance: Any, **_: Any) -> None:
    follow_queues(instance.app, lambda: _Current.drained[0] == 1, _place_queues)


@celeryd_init.connect
def _find_configuration(options: dict[str, Any], **_: Any) -> None:
    """Find the configuration here too, because a worker may be started by Celery's own command.

    Exit code 3 without a valid one, as of `ocw worker`.
    """
    _logging(options.get("loglevel") or "INFO")  # Celery sets it up later
    try:
        wait_for_configuration()
    except ConfigurationError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        sys.exit(3)


@celeryd_init.connect
def _without_gossip_and_mingle(instance: Any, **_: Any) -> None:
    """Switch gossip and mingle off, also for Celery's own command: nothing here needs them, and there is no setting.

    With gossip each worker reads the events of all others. With mingle each waits a second at start for their answers.
    """
    instance.prepare_args = lambda **given: {**given, "without_gossip": True, "without_mingle": True}


@celeryd_after_setup.connect
def _after_setup(instance: Any, **_: Any) -> None:
    keep_acks_across_reconnects()
    use_batch_fetch()
    replace_revoke()
    replace_commands()
    add_commands()
    pool = "prefork" if "prefork" in instance.pool_cls.__module__ else "threads"
    lanes = ",".join(sorted(instance.app.amqp.queues.consume_from))
    plugins = load_configured_plugins()
    concurrency = int(instance.concurrency or 1)
    _Current.facts = WorkerFacts(
        lanes, concurrency, pool, on_drained=_set_drained, on_places=_set_places, plugins=plugins
    )
    if lanes != Lane.SERVICE:
        # Before any fork, so that the children of a pool share it.
        load_models(loaded().settings)
    _Current.nodename = instance.hostname
    if pool != "prefork":
        worker = _start(_Current.facts)
        if worker.config.refusal:
            for lane in (Lane.MAIN, Lane.SUBAGENT):
                instance.app.amqp.queues.deselect(lane)


@worker_process_init.connect
def _child_started(**_: Any) -> None:
    assert _Current.facts is not None
    facts, leaving = _Current.facts, _Current.leaving
    _start(replace(facts, concurrency=1, asked_to_leave=lambda: leaving[0] == 1))


@worker_process_shutdown.connect
@worker_shutdown.connect
def _stopped(**_: Any) -> None:
    if _Current.worker is not None:
        _Current.worker.stop()
        _Current.worker = None


@worker_ready.connect
def _ready(**_: Any) -> None:
    lane = _Current.facts.lane if _Current.facts else ""
    set_title(f"ocw worker-{lane}")  # Celery has set a title of its own
    log.info("worker.ready", lane=lane)
    if os.geteuid() == 0:
        log.warning("worker.is_root", advice="tools run with all rights; start workers as an ordinary user")
    if SUPERVISED_VARIABLE not in os.environ:  # `ocw up` prints it once
        _log_unsafe_settings()


def _log_unsafe_settings() -> None:
    client = connect(redis_url())
    try:
        for setting, problem in unsafe_settings(client).items():
            log.warning("redis.unsafe_setting", setting=setting, problem=problem)
    except StoreUnavailable as error:
        log.warning("redis.settings_unknown", error=error.message)
    finally:
        client.close()


@worker_shutting_down.connect
def _leaving(**_: Any) -> None:
    if _Current.worker is not None:
        _Current.worker.leave()
    else:
        _Current.leaving[0] = 1


def _set_drained(is_drained: bool) -> None:
    _Current.drained[0] = int(is_drained)


def _set_places(places: Sequence[str]) -> None:
    _Current.places.write(" ".join(places))


def _place_queues() -> list[str]:
    """The queues of places that this worker consumes."""
    lanes = _Current.facts.lane.split(",") if _Current.facts else []
    return [queue_name(lane, place) for place in _Current.places.read().split() for lane in lanes]


def _start(facts: WorkerFacts) -> Worker:
    worker = _Current.worker = Worker(facts, _Current.nodename)
    worker.start()
    return worker
