"""Builds what memory needs in one process: the service, and how others reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

from openclaw_workers.config.resolve import agent_ids
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import new_token
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.memory.client import MemoryAccess, MemoryClient
from openclaw_workers.engine.memory.direct import DirectMemory
from openclaw_workers.engine.memory.embedder_choice import EmbedderChoice, EmbeddingCall
from openclaw_workers.engine.memory.owner import MemoryOwner
from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.engine.memory.transcripts import Transcripts
from openclaw_workers.engine.memory.watch import ChangeWatch
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.memory.backend import Backend
from openclaw_workers.memory.embedders.base import VectorCache
from openclaw_workers.memory.qdrant_edge import EdgeBackend
from openclaw_workers.memory.server import ServerBackend
from openclaw_workers.store.memory import MemoryRequests
from openclaw_workers.store.reader import Reader

INDEX_DIR = Path("memory") / "index"
SYNC_LEASE_MS = 60_000


@dataclass(frozen=True)
class MemoryGraph:
    settings: Settings
    state_dir: Path
    agents: AgentConfigs
    reader: Reader
    requests: MemoryRequests
    places: PlaceClient
    place: Callable[[], str]
    cache: Callable[[int], VectorCache]
    embedding_call: EmbeddingCall
    making: Lock
    """Turns that search first at the same moment share one service."""

    @cached_property
    def client(self) -> MemoryClient:
        return MemoryClient(self.requests, self.places, self.place)

    @cached_property
    def access(self) -> MemoryAccess:
        """The owner of the embedded index, or the server."""
        # The embedded index admits one process, so all others ask its owner.
        return DirectMemory(self._direct, self.client) if self.settings.qdrant.url else self.client

    @cached_property
    def owner(self) -> MemoryOwner:
        ids = agent_ids(self.settings)
        watch = ChangeWatch(self.agents, ids, self.state_dir)
        return MemoryOwner(self.requests, self.new_service, watch)

    def _direct(self) -> MemoryService:
        with self.making:
            return self._shared

    @cached_property
    def _shared(self) -> MemoryService:
        return self.new_service()

    def new_service(self) -> MemoryService:
        return MemoryService(
            agents=self.agents,
            agent_ids=agent_ids(self.settings),
            state_dir=self.state_dir,
            backend=self._backend(),
            embedders=EmbedderChoice(self.settings, self.state_dir, self.cache, self.embedding_call),
            transcripts=Transcripts(self.reader, self.state_dir),
            sync_lock=self._sync_lock,
        )

    def _backend(self) -> Backend:
        qdrant = self.settings.qdrant
        if qdrant.url is None:
            return EdgeBackend(self.state_dir / INDEX_DIR)
        key = qdrant.api_key.get_secret_value() if qdrant.api_key else None
        return ServerBackend(qdrant.url.get_secret_value(), key)

    @contextmanager
    def _sync_lock(self, agent_id: str) -> Iterator[bool]:
        """On a server several workers see the same changes; only the first of them does the work."""
        if self.settings.qdrant.url is None:
            yield True
            return
        name, token = f"{self.place()}/{agent_id}", new_token()
        yield self.requests.lock_sync(name, token, SYNC_LEASE_MS)
        self.requests.lock_sync(name, token, 0)
