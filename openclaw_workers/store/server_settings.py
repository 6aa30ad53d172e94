"""Settings of the Redis server that break what is promised of accepted messages."""

from __future__ import annotations

from typing import Any

from redis.exceptions import NoPermissionError, ResponseError

from openclaw_workers.store.client import Client, store_errors


def unsafe_settings(redis: Client) -> dict[str, str]:
    """By name of the setting, its value and what may be lost by it; empty when all is well, or we may not ask.

    Raises:
        StoreUnavailable: Redis did not answer.
    """
    with store_errors():
        try:
            memory: Any = redis.info("memory")
            persistence: Any = redis.info("persistence")
        except NoPermissionError:
            return {}
        fsync = _fsync(redis)
    unsafe = {}
    policy = memory.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        unsafe["maxmemory-policy"] = f"{policy}: a full Redis deletes accepted messages and sessions; set noeviction"
    if not persistence.get("aof_enabled"):
        unsafe["appendonly"] = "no: a Redis that stops loses accepted messages; set yes, and appendfsync to always"
    elif fsync not in ("always", ""):
        unsafe["appendfsync"] = f"{fsync}: a killed Redis may lose messages it has accepted; set always"
    return unsafe


def _fsync(redis: Client) -> str:
    """Empty where the server does not tell: providers forbid CONFIG, and INFO does not have it."""
    try:
        found: Any = redis.config_get("appendfsync")
    except ResponseError:
        return ""
    return str(found.get("appendfsync", ""))
