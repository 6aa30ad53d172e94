"""The installation itself: its stores and the entry points of the engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.local_agents import LocalAgents
    from openclaw_workers.cli.backend.local_channels import LocalChannels
    from openclaw_workers.cli.backend.local_config import LocalConfig
    from openclaw_workers.cli.backend.local_messages import LocalMessages
    from openclaw_workers.cli.backend.local_overview import LocalOverview
    from openclaw_workers.cli.backend.local_runs import LocalRuns
    from openclaw_workers.cli.backend.local_sessions import LocalSessions
    from openclaw_workers.cli.backend.local_status import LocalStatus
    from openclaw_workers.cli.backend.local_workers import LocalWorkers
    from openclaw_workers.cli.backend.opened import Opened

    class LocalBackend(
        LocalStatus,
        LocalMessages,
        LocalSessions,
        LocalRuns,
        LocalOverview,
        LocalChannels,
        LocalAgents,
        LocalWorkers,
        LocalConfig,
    ):
        """Implements `Backend` with the rights of the owner."""

else:
    PARTS = ("Status", "Messages", "Overview", "Runs", "Sessions", "Channels", "Agents", "Workers", "Config")
    """In the order in which a method is looked for: those that load little, and that people use most, come first."""

    class LocalBackend:
        """Loads the part that has a method when it is first called."""

        def __init__(self, cli: Opened) -> None:
            self._cli = cli
            self._parts: dict[str, Any] = {}

        def __getattr__(self, method: str) -> Any:
            for name in PARTS:
                if name not in self._parts:
                    module = import_module(f"openclaw_workers.cli.backend.local_{name.lower()}")
                    self._parts[name] = getattr(module, f"Local{name}")(self._cli)
                if hasattr(self._parts[name], method):
                    return getattr(self._parts[name], method)
            raise AttributeError(method)
