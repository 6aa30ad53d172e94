"""OpenClaw-style agents as durable jobs on a Celery fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.version import VERSION

if TYPE_CHECKING:
    from openclaw_workers.errors import ToolError
    from openclaw_workers.plugins import hook
    from openclaw_workers.sdk.aio import AsyncClient
    from openclaw_workers.sdk.blocking import Client
    from openclaw_workers.tools.plugins.call_context import CallContext
    from openclaw_workers.tools.plugins.function_tool import tool

__version__ = VERSION
__all__ = ["AsyncClient", "CallContext", "Client", "ToolError", "__version__", "hook", "tool"]

_LAZY = {
    "AsyncClient": "openclaw_workers.sdk.aio",
    "CallContext": "openclaw_workers.tools.plugins.call_context",
    "Client": "openclaw_workers.sdk.blocking",
    "ToolError": "openclaw_workers.errors",
    "hook": "openclaw_workers.plugins",
    "tool": "openclaw_workers.tools.plugins.function_tool",
}


def __getattr__(name: str) -> Any:
    """Load what clients and plugins use when it is first used, because every process imports this package."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_LAZY[name]), name)
