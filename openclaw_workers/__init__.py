"""OpenClaw-style agents as durable jobs on a Celery fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.version import VERSION

if TYPE_CHECKING:
    from openclaw_workers.sdk.aio import AsyncClient
    from openclaw_workers.sdk.blocking import Client

__version__ = VERSION
__all__ = ["AsyncClient", "Client", "__version__"]

_CLIENTS = {"AsyncClient": "openclaw_workers.sdk.aio", "Client": "openclaw_workers.sdk.blocking"}


def __getattr__(name: str) -> Any:
    """Load a client when it is first used, because every worker imports this package too."""
    if name not in _CLIENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_CLIENTS[name]), name)
