"""Finds the configuration inside Celery's processes, which do not get our command line options."""

from __future__ import annotations

import os
from functools import cache

import structlog

from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.loader import Loaded, load_file
from openclaw_workers.engine.fleet_config import (
    LOCAL_CONFIG_VARIABLE,
    InForce,
    in_force,
    namespace_of,
    publish_if_none,
    redis_url_of,
    unused_model,
    wait_for_redis,
)
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.client import connect

log = structlog.get_logger(__name__)


@cache
def host() -> Host:
    """This host, by OPENCLAW_CONFIG and OPENCLAW_STATE_DIR."""
    return find_host()


def redis_url() -> str:
    return redis_url_of(host())


def namespace() -> str:
    return namespace_of(host())


def is_local() -> bool:
    """Whether this process uses its file, whatever is published."""
    return bool(os.environ.get(LOCAL_CONFIG_VARIABLE))


@cache
def started_with() -> InForce:
    """The configuration that this process started with, and its version."""
    if is_local():
        return InForce(load_file(host()), None)
    client = connect(redis_url())
    try:
        return in_force(host(), client)
    finally:
        client.close()


def loaded() -> Loaded:
    return started_with().loaded


def sends_task_events() -> bool:
    try:
        return loaded().settings.engine.task_events
    except StoreUnavailable:  # a worker waits for Redis before it asks for the rest
        return load_file(host(), allows_unset=True).settings.engine.task_events


def wait_for_configuration() -> None:
    """Return once a configuration can be read. The first process of a fleet publishes its own."""
    if is_local():
        return
    client = connect(redis_url())
    try:
        wait_for_redis(host(), client, lambda why: log.warning("config.waiting", reason=why))
        published = publish_if_none(host(), client)
    finally:
        client.close()
    started_with.cache_clear()  # it may have been read before anything was published
    if published is not None:
        log.info("config.published", version=published.number, source=str(host().source or "defaults"))
    report_differences()


def report_differences() -> None:
    """Say where this host differs from the configuration in force; `ocw config apply` publishes what it has."""
    now = started_with()
    if now.version is None:
        return
    if now.differs:
        advice = "it has no effect; publish it with `ocw config apply`"
        log.warning("config.file_differs", source=str(host().source), version=now.version.number, advice=advice)
    if model := unused_model(host(), now.version):
        advice = "this host has its key; use it with `ocw config apply`"
        log.warning("config.model_not_used", model=model, version=now.version.number, advice=advice)


def forget() -> None:
    """Read everything again, as a new process would."""
    host.cache_clear()
    started_with.cache_clear()
