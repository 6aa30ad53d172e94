"""The installation itself: its stores and the doors of the engine."""

from __future__ import annotations

from openclaw_workers.cli.backend.local_agents import LocalAgents
from openclaw_workers.cli.backend.local_config import LocalConfig
from openclaw_workers.cli.backend.local_edge import LocalEdge
from openclaw_workers.cli.backend.local_facts import LocalFacts
from openclaw_workers.cli.backend.local_runs import LocalRuns
from openclaw_workers.cli.backend.local_sessions import LocalSessions
from openclaw_workers.cli.backend.local_talk import LocalTalk
from openclaw_workers.cli.backend.local_workers import LocalWorkers


class LocalBackend(LocalTalk, LocalSessions, LocalRuns, LocalFacts, LocalEdge, LocalAgents, LocalWorkers, LocalConfig):
    """Implements `Backend` with the rights of the owner."""
