"""The engine in this process, on a real Redis, with a waker that only remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.client_graph import control_of, intake_of
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.stores import Stores, open_stores
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.store.turns import Turns
from openclaw_workers.testing.local_waker import LocalWaker
from tests.support.redis_server import RedisServer

SESSION = SessionKey("agent:main:main")
CLI = Route(channel="cli")


class MemoryWaker(LocalWaker):
    """A test carries the wake-ups itself, or loses them; it may say how long they have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.oldest = 0
        self.places: list[str] = []
        """Places whose workers were asked for."""
        self.notes: list[str] = []
        """Conversations to be saved to memory."""

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        self.places += [place] if place else []
        return super().turn(session, run, place=place)

    def memory_note(self, session_id: str) -> bool:
        self.notes.append(session_id)
        return True

    def oldest_ms(self, session: SessionKey) -> int:
        return self.oldest


@dataclass
class EngineHarness:
    """One worker's worth of engine."""

    loaded: Loaded
    stores: Stores
    waker: MemoryWaker
    process: WorkerState
    built: WorkerEngine
    intake: Intake
    control: Control
    sweeper: Sweeper

    @property
    def turns(self) -> Turns:
        return self.built.turns

    @property
    def runner(self) -> TurnRunner:
        return self.built.runner

    @property
    def announcer(self) -> Announcer:
        return self.built.announcer

    @property
    def archives(self) -> ArchiveWriter:
        return self.built.archives

    def archive_all(self) -> list[Path | None]:
        """Write every archive out, as the sweep does."""
        waiting = map(str, self.stores.redis.hkeys(self.stores.keys.archives))
        return [self.archives.write(archive_id) for archive_id in waiting]

    def say(self, text: str, session: SessionKey = SESSION, **more: Any) -> Queued:
        given = {"route": CLI, "authority": Authority.OWNER, **more}
        queued = self.intake.accept(text, session=session, **given)
        assert isinstance(queued, Queued), queued
        return queued

    def take(self, session: SessionKey = SESSION, *, nonce: str = "n") -> Taken:
        """Own the session's run as a worker does, and leave it at that."""
        taken = self.turns.take(
            session,
            RunId(self.ctl("run", session)),
            Lane.MAIN,
            nonce=nonce,
            time_ms=60_000,
            freshness=self.built.resets.times(session),
            may_suspect=True,
        )
        assert isinstance(taken, Taken)
        return taken

    def work(self) -> int:
        """Carry every wake-up that is there, and those that come of it; returns how many runs ended."""
        carried = 0
        while self.waker.turns:
            carried += self.runner.run(*self.waker.turns.pop(0)) is not None
        return carried

    def work_once(self) -> RunState | None:
        """Carry the oldest wake-up."""
        return self.runner.run(*self.waker.turns.pop(0))

    def receipt(self, queued: Queued) -> Receipt:
        receipt = self.stores.inbox.receipt(queued.session_key, queued.message_id)
        assert receipt is not None
        return receipt

    def run_of(self, queued: Queued) -> Run:
        run = self.stores.reader.run(self.receipt(queued).run or RunId(""))
        assert run is not None
        return run

    def log(self, session: SessionKey = SESSION) -> list[TranscriptEntry]:
        return self.stores.reader.transcript(session)

    def ctl(self, name: str, session: SessionKey = SESSION) -> str:
        return str(self.stores.redis.hget(self.stores.keys.ctl(session), name) or "")

    def set_ctl(self, name: str, value: object, session: SessionKey = SESSION) -> None:
        self.stores.redis.hset(self.stores.keys.ctl(session), name, str(value))

    def events(self, session: SessionKey = SESSION) -> list[str]:
        return [event.type for event in self.stores.reader.events(session, "0")]


MakeEngine = Callable[..., EngineHarness]


@pytest.fixture
def make_engine(redis_server: RedisServer, redis_client: redis.Redis, namespace: str, tmp_path: Path) -> MakeEngine:
    def make(
        config: Mapping[str, Any] | None = None,
        *,
        url: str = "",
        grace_seconds: float = 30,
        state_dir: Path = tmp_path / "state",
    ) -> EngineHarness:
        path = tmp_path / "openclaw.yaml"
        given = dict(config or {})
        engine = {"namespace": namespace, "leaseSeconds": 4.0, **given.pop("engine", {})}
        tree = {"engine": engine, "messages": {"queue": {"debounceMs": 0}}, **given}
        path.write_text(yaml.safe_dump(tree))
        loaded = load(path, env={"HOME": str(tmp_path)}, cwd=tmp_path, state_dir=state_dir)
        stores = open_stores(loaded.settings, url or redis_server.url)
        waker, process = MemoryWaker(), WorkerState(grace_seconds=grace_seconds)
        built = WorkerEngine(loaded, stores, waker, process, WorkerId("here/1/a"), default_model="offline/script")
        return EngineHarness(
            loaded,
            stores,
            waker,
            process,
            built,
            intake_of(stores, waker),
            control_of(stores, waker),
            built.sweeper,
        )

    return make


@pytest.fixture
def engine(make_engine: MakeEngine) -> EngineHarness:
    return make_engine()
