"""An agent's memory as one process serves it: brings the index up to date and searches it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import structlog

from openclaw_workers.clock import zone_of
from openclaw_workers.config.memory import MemorySearchSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.memory.documents import FileDocument, file_documents, roots_of
from openclaw_workers.engine.memory.embedder_choice import EmbedderChoice
from openclaw_workers.engine.memory.read_lines import read_lines
from openclaw_workers.engine.memory.transcripts import Cut, TranscriptDocument, Transcripts
from openclaw_workers.memory.backend import Backend, Collection, collection_name
from openclaw_workers.memory.embedders.base import Embedder, EmbedderUnavailable
from openclaw_workers.memory.files import MemoryFile, MemoryRoots, memory_files
from openclaw_workers.memory.fusion import Weights, default_weights
from openclaw_workers.memory.index import Document, MemoryIndex, SyncReport, fingerprint
from openclaw_workers.memory.points import CHUNK, FILE, where
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.memory.search import SOURCES, MemorySearch, SearchOptions, result_json

log = structlog.get_logger(__name__)

Progress = Callable[[int, int], None]
BUILD_WAIT_SECONDS = 20.0
"""How long a search waits for a first index that somebody else is building."""
TRANSCRIPTS_SECONDS = 5.0
"""Searches look for new messages in transcripts this often."""
REBUILDING = "the index is being built again; meanwhile the old one is searched by words"


def no_progress(done: int, all_of: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """An agent's index, and what embeds for it."""

    agent: AgentConfig
    name: str
    collection: Collection
    embedder: Embedder | None
    no_embedder: str

    @property
    def index(self) -> MemoryIndex:
        return MemoryIndex(self.collection, self.agent.id, self.embedder)


@dataclass(frozen=True, slots=True)
class _Synced:
    """What an agent's index was last brought up to date with."""

    collection: str
    files: list[MemoryFile]
    transcripts_at: float


class MemoryService:
    def __init__(
        self,
        *,
        agents: AgentConfigs,
        agent_ids: Sequence[str],
        state_dir: Path,
        backend: Backend,
        embedders: EmbedderChoice,
        transcripts: Transcripts,
        sync_lock: Callable[[str], AbstractContextManager[bool]] = lambda agent: nullcontext(True),
    ) -> None:
        """`sync_lock` says whether no other process is bringing the same agent's index up to date."""
        self._agents = agents
        self._agent_ids = agent_ids
        self._state_dir = state_dir
        self._backend = backend
        self._embedders = embedders
        self._transcripts = transcripts
        self._sync_lock = sync_lock
        self._locks = {agent: Lock() for agent in agent_ids}
        self._tidied: set[tuple[str, str]] = set()
        self._synced: dict[str, _Synced] = {}
        self._ready: dict[tuple[str, str], float] = {}

    def search(self, query: str, visible: Visibility, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Results and how they were found. `asked` may hold maxResults, minScore and sources.

        Raises:
            IndexUnavailable: the index cannot be asked.
        """
        opened = self._open(visible.agent_id)
        given = opened.agent.memory_search
        note = self._freshen(opened, given)
        # After a change of the embedder, a large memory takes minutes to index again.
        if not self._is_ready(opened) and (older := self._older(opened)):
            opened, note = older, REBUILDING
        engine = MemorySearch(opened.collection, opened.embedder, no_embedder=note or opened.no_embedder)
        found = engine.search(query, visible, _options(given, opened.embedder, asked))
        return {
            "results": [result_json(each, query) for each in found.results],
            "provider": opened.embedder.provider if opened.embedder else "none",
            "model": opened.embedder.model if opened.embedder else "",
            "mode": found.mode,
            "backend": self._backend.name,
            **({"note": found.note or note} if found.note or note else {}),
        }

    def sync(
        self,
        agent_id: str,
        *,
        force: bool = False,
        finished: Sequence[tuple[str, str]] = (),
        progress: Progress = no_progress,
    ) -> dict[str, Any]:
        """Bring an agent's index up to date. `finished`: path and session key of transcripts that were archived.

        Raises:
            IndexUnavailable: the index cannot be written.
        """
        began = time.monotonic()
        report = self._sync(self._open(agent_id), force=force, finished=finished, progress=progress)
        return {**asdict(report), "agentId": agent_id, "milliseconds": round((time.monotonic() - began) * 1000)}

    def status(self, agent_id: str) -> dict[str, Any]:
        opened = self._open(agent_id)
        own = {"agent": agent_id}
        known = opened.index.known("memory")
        files = self._files(opened.agent)
        waiting = sum(known.get(("memory", each.path), {}).get("version") != each.version for each in files)
        return {
            "agentId": agent_id,
            "backend": self._backend.name,
            "collection": opened.name,
            "provider": opened.embedder.provider if opened.embedder else "none",
            "model": opened.embedder.model if opened.embedder else "",
            "mode": "hybrid" if opened.embedder else "keyword",
            "files": opened.collection.count(where(kind=FILE, source="memory", **own)),
            "transcripts": opened.collection.count(where(kind=FILE, source="sessions", **own)),
            "chunks": opened.collection.count(where(kind=CHUNK, **own)),
            "changedFiles": waiting,
            "ready": opened.index.is_ready(),
            **({"note": opened.no_embedder} if opened.no_embedder else {}),
        }

    def files(self, agent_id: str) -> dict[str, Any]:
        """The memory files of an agent, and whether each is indexed as it is now."""
        opened = self._open(agent_id)
        known = opened.index.known("memory")
        files = [
            {
                "path": each.path,
                "bytes": each.file.size,
                "modifiedAt": each.time_ms,
                "indexed": known.get(("memory", each.path), {}).get("version") == each.version,
            }
            for each in self._files(opened.agent)
        ]
        return {"files": files}

    def get(self, agent_id: str, path: str, first: int | None, count: int | None) -> dict[str, Any]:
        """Lines of a memory file, whoever may see it."""
        roots = self._roots(self._agents.resolve(agent_id))
        return read_lines(roots, Visibility(agent_id, (), sees_all=True), path, first=first, count=count)

    def close(self) -> None:
        self._backend.close()

    def _open(self, agent_id: str) -> _Opened:
        """The agent's index. If its embedder does not work yet, one that is searched by words alone."""
        agent = self._agents.resolve(agent_id)
        embedder, why = self._embedders.of(agent)
        dimensions = 0
        try:
            dimensions = embedder.dimensions if embedder else 0
        except EmbedderUnavailable as error:
            embedder, why = None, str(error)
        model = f"{embedder.provider}/{embedder.model}" if embedder else "none"
        chunking = agent.memory_search.chunking
        name = collection_name(fingerprint(model, chunking.tokens, chunking.overlap), dimensions)
        return _Opened(agent, name, self._backend.open(name), embedder, why)

    def _freshen(self, opened: _Opened, given: MemorySearchSettings) -> str:
        """Index what has changed, if that is wanted or nothing is indexed yet; returns what to tell."""
        if not self._is_ready(opened):
            wait_seconds = 0.0 if self._older(opened) else BUILD_WAIT_SECONDS
            return self._sync(opened, wait_seconds=wait_seconds).unembedded
        stale = self._stale(opened) if given.sync.on_search else ()
        return self._sync(opened, stale, wait_seconds=0.0).unembedded if stale else ""

    def _is_ready(self, opened: _Opened) -> bool:
        """Whether the index is complete. Counting takes as long as a search, so the answer holds for some seconds."""
        key, now = (opened.agent.id, opened.name), time.monotonic()
        if key in self._ready and now - self._ready[key] < TRANSCRIPTS_SECONDS:
            return True
        if not opened.index.is_ready():
            return False
        self._ready[key] = now
        return True

    def _stale(self, opened: _Opened) -> Sequence[str]:
        """The sources to look through: changed files at once, transcripts every few seconds."""
        seen = self._synced.get(opened.agent.id)
        if seen is None or seen.collection != opened.name:
            return SOURCES
        looks = {
            "memory": seen.files != self._memory_files(opened.agent),
            "sessions": time.monotonic() - seen.transcripts_at > TRANSCRIPTS_SECONDS,
        }
        return [source for source in SOURCES if looks[source]]

    def _note_synced(self, opened: _Opened, sources: Sequence[str], documents: Sequence[Document]) -> None:
        seen = self._synced.get(opened.agent.id)
        files = [each.file for each in documents if isinstance(each, FileDocument)]
        now = time.monotonic()
        if seen is not None and seen.collection == opened.name:
            files = files if "memory" in sources else seen.files
            now = now if "sessions" in sources else seen.transcripts_at
        self._synced[opened.agent.id] = _Synced(opened.name, files, now)

    def _sync(
        self,
        opened: _Opened,
        sources: Sequence[str] = SOURCES,
        *,
        force: bool = False,
        finished: Sequence[tuple[str, str]] = (),
        progress: Progress = no_progress,
        wait_seconds: float = -1,
    ) -> SyncReport:
        """One at a time for each agent. Whoever waits longer than `wait_seconds` for the other goes without."""
        agent_id = opened.agent.id
        lock = self._locks.setdefault(agent_id, Lock())
        # A lock takes no time-out of 0; not to wait at all is another argument.
        if not lock.acquire(timeout=wait_seconds if wait_seconds > 0 else -1, blocking=wait_seconds != 0):
            return SyncReport()
        try:
            with self._sync_lock(agent_id) as is_ours:
                if not is_ours:
                    return SyncReport()
                documents = self._documents(opened, sources, force=force, finished=finished)
                report = opened.index.sync(documents, complete=sources, progress=progress, force=force)
            # Otherwise the next search tries again to embed what is missing.
            if not report.unembedded:
                self._note_synced(opened, sources, documents)
            self._tidy(opened)
        finally:
            lock.release()
        if report.indexed or report.removed:
            log.info("memory.indexed", agentId=agent_id, documents=report.indexed, removed=report.removed)
        return report

    def _documents(
        self, opened: _Opened, sources: Sequence[str], *, force: bool, finished: Sequence[tuple[str, str]]
    ) -> list[Document]:
        """All documents of these sources. One that is switched off has none, so what is indexed of it is removed."""
        used = set(sources) & set(opened.agent.memory_search.sources)
        documents: list[Document] = []
        if "memory" in used:
            documents += self._files(opened.agent)
        if "sessions" in used:
            documents += self._spoken(opened, force=force, finished=finished)
        return documents

    def _memory_files(self, agent: AgentConfig) -> list[MemoryFile]:
        return memory_files(self._roots(agent)) if "memory" in agent.memory_search.sources else []

    def _files(self, agent: AgentConfig) -> list[FileDocument]:
        return file_documents(self._roots(agent), agent.memory_search.chunking)

    def _roots(self, agent: AgentConfig) -> MemoryRoots:
        return roots_of(agent.id, self._agents.workspace(agent.id), self._state_dir, agent.memory_search)

    def _spoken(
        self, opened: _Opened, *, force: bool, finished: Sequence[tuple[str, str]]
    ) -> list[TranscriptDocument | _Unchanged]:
        """Transcripts: live ones with enough new messages, archived ones, and those that stay as they are."""
        agent, given = opened.agent, opened.agent.memory_search
        cut, known = Cut(given.chunking.tokens, zone_of(agent.user_timezone)), opened.index.known("sessions")
        live = self._transcripts.live(agent.id, given.sessions, known, cut=cut, force=force)
        found: dict[str, TranscriptDocument | _Unchanged] = {each.path: each for each in live}
        kept = self._transcripts.live_paths(agent.id)
        over = dict(finished) | {path: str(facts.get("session", "")) for (_, path), facts in known.items()}
        for path, session_key in over.items():
            if path in found:
                continue
            facts = known.get(("sessions", path), {})
            # An archive only grows, so its size tells whether it must be read again.
            size = self._transcripts.archived_bytes(agent.id, path)
            if size and not force and facts.get("fileBytes") == size:
                found[path] = _Unchanged(path, str(facts["version"]))
                continue
            archived = self._transcripts.archived(agent.id, path, session_key, cut=cut)
            if archived is not None:
                found[path] = archived
            elif path in kept and ("sessions", path) in known:
                found[path] = _Unchanged(path, str(known["sessions", path]["version"]))
        return list(found.values())

    def _older(self, opened: _Opened) -> _Opened | None:
        """An index of this agent that was complete before a setting changed."""
        for name in self._backend.names():
            if name != opened.name:
                collection = self._backend.open(name)
                if MemoryIndex(collection, opened.agent.id, None).is_ready():
                    return _Opened(opened.agent, name, collection, None, REBUILDING)
        return None

    def _tidy(self, opened: _Opened) -> None:
        """Once the index is complete, remove the agent from those that it had before; drop what is empty then."""
        if (opened.agent.id, opened.name) in self._tidied:
            return
        self._tidied.add((opened.agent.id, opened.name))
        for name in self._backend.names():
            if name != opened.name:
                collection = self._backend.open(name)
                MemoryIndex(collection, opened.agent.id, None).forget_agent()
                if collection.count(where(kind=[FILE, CHUNK, "ready"])) == 0:
                    self._backend.drop(name)


@dataclass(frozen=True, slots=True)
class _Unchanged:
    """A document that is there, and needs no reading."""

    path: str
    version: str
    source: str = "sessions"
    time_ms: int = 0

    def read(self, known: Mapping[str, Any] | None) -> None:
        return None


def _options(given: MemorySearchSettings, embedder: Embedder | None, asked: Mapping[str, Any]) -> SearchOptions:
    query, hybrid = given.query, given.query.hybrid
    weights = None
    if hybrid.vector_weight is not None or hybrid.text_weight is not None:
        usual = default_weights(embedder.provider if embedder else "")
        text = usual.text if hybrid.text_weight is None else hybrid.text_weight
        vector = usual.vector if hybrid.vector_weight is None else hybrid.vector_weight
        weights = Weights(text, vector)
    min_score = asked.get("minScore")
    return SearchOptions(
        max_results=int(asked.get("maxResults") or query.max_results),
        min_score=float(min_score if min_score is not None else query.min_score or 0.0),
        sources=tuple(each for each in given.sources if each in (asked.get("sources") or given.sources)),
        mode="hybrid" if hybrid.enabled else "vector",
        weights=weights,
        candidate_multiplier=hybrid.candidate_multiplier,
        mmr_share=hybrid.mmr.relevance if hybrid.mmr.enabled else None,
        half_life_days=hybrid.temporal_decay.half_life_days if hybrid.temporal_decay.enabled else None,
    )
