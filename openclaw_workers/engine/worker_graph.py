"""The composition root: builds the engine's objects from one configuration, each with what it needs.

Only this module, the worker and the CLI's context know all stores. A turn uses the objects of one graph to its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import model_aliases
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.client_graph import control_of, intake_of
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.sessions.relay import AnswerRelay
from openclaw_workers.engine.sessions.tool_port import SessionTools, TurnSessions
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.sweep.archive import DueArchives
from openclaw_workers.engine.sweep.batch import DueBatches
from openclaw_workers.engine.sweep.cleanup import DueCleanups
from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.forget import DueRecords
from openclaw_workers.engine.sweep.orphan import DueOrphans
from openclaw_workers.engine.sweep.reap import DueReaps
from openclaw_workers.engine.sweep.relay import DueRelays
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.engine.sweep.turn import DueTurns
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.engine.turn.agent_frame import AgentFrames
from openclaw_workers.engine.turn.execution import TurnExecution
from openclaw_workers.engine.turn.lost_calls import LostCalls
from openclaw_workers.engine.turn.prepare import Preparer
from openclaw_workers.engine.turn.reset_policy import ResetPolicy
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.wake import Waker
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.store.keys import ARCHIVE, BATCH, CLEANUP, FORGET, ORPHAN, REAP, RELAY, TURN
from openclaw_workers.store.turns import Taken, TurnRules, Turns


@dataclass(frozen=True, slots=True)
class WorkerEngine:
    """What a worker process uses of the engine."""

    turns: Turns
    transcripts: TranscriptCache
    resets: ResetPolicy
    frames: AgentFrames
    models: Models
    preparer: Preparer
    calibration: Calibration
    lost_calls: LostCalls
    sessions_of: Callable[[Taken], TurnSessions]
    runner: TurnRunner
    announcer: Announcer
    archives: ArchiveWriter
    sweeper: Sweeper


def spawner_of(stores: Stores, waker: Waker, loaded: Loaded, agents: AgentConfigs) -> Spawner:
    return Spawner(
        tree=stores.tree,
        reader=stores.reader,
        waker=waker,
        agents=agents,
        settings=loaded.settings,
        state_dir=loaded.state_dir,
    )


def announcer_of(stores: Stores, waker: Waker, agents: AgentConfigs) -> Announcer:
    return Announcer(
        tree=stores.tree, fleet=stores.fleet, reader=stores.reader, keys=stores.keys, agents=agents, waker=waker
    )


def worker_engine(
    loaded: Loaded, stores: Stores, waker: Waker, process: WorkerState, worker: WorkerId, *, default_model: str
) -> WorkerEngine:
    settings = loaded.settings
    timing = stores.timing
    rules = TurnRules(timing.lease_ms, timing.rewake_ms, timing.grant_ms)
    turns = Turns(stores.redis, stores.keys, worker, rules, stores.caps)
    agents = AgentConfigs(settings, loaded.state_dir, default_model=default_model)
    models = Models(loaded, stores.redis, stores.keys)
    frames = AgentFrames(
        agents,
        models,
        model_aliases=sorted(model_aliases(settings).items()),
        max_model_calls=settings.engine.max_steps,
        tool_timeout_seconds=settings.engine.tool_timeout_seconds,
    )
    resets = ResetPolicy(settings.session, agents)
    transcripts = TranscriptCache(stores.reader)
    calibration = Calibration()
    lost_calls = LostCalls(agents, models, stores.reader)
    preparer = Preparer(
        agents=agents,
        frames=frames,
        models=models,
        transcripts=transcripts,
        calibration=calibration,
        reader=stores.reader,
        tree=stores.tree,
    )
    intake = intake_of(stores, waker)
    tools = SessionTools(
        spawner=spawner_of(stores, waker, loaded, agents),
        intake=intake,
        control=control_of(stores, waker),
        inbox=stores.inbox,
        reader=stores.reader,
        sessions=stores.sessions,
        tree=stores.tree,
        exchanges=stores.exchanges,
        agents=agents,
        settings=settings,
    )
    execution = TurnExecution(
        turns=turns,
        preparer=preparer,
        models=models,
        lost_calls=lost_calls,
        calibration=calibration,
        reader=stores.reader,
        process=process,
        sessions_of=tools.for_turn,
        transcripts=transcripts,
    )
    sweep_wanted = threading.Event()
    runner = TurnRunner(
        turns=turns,
        execution=execution,
        agents=agents,
        resets=resets,
        transcripts=transcripts,
        lost_calls=lost_calls,
        reader=stores.reader,
        sessions=stores.sessions,
        process=process,
        waker=waker,
        max_attempts=settings.engine.max_attempts,
        on_delayed=sweep_wanted.set,
    )
    announcer = announcer_of(stores, waker, agents)
    archives = ArchiveWriter(stores.archives, loaded)
    sweeper = Sweeper(
        stores.fleet,
        stores.reader,
        _due_kinds(
            loaded=loaded,
            stores=stores,
            waker=waker,
            worker=worker,
            runner=runner,
            intake=intake,
            announcer=announcer,
            archives=archives,
        ),
        place_id=lambda: archives.place_id,
        wanted=sweep_wanted,
        period_seconds=settings.engine.sweep_seconds,
    )
    return WorkerEngine(
        turns=turns,
        transcripts=transcripts,
        resets=resets,
        frames=frames,
        models=models,
        preparer=preparer,
        calibration=calibration,
        lost_calls=lost_calls,
        sessions_of=tools.for_turn,
        runner=runner,
        announcer=announcer,
        archives=archives,
        sweeper=sweeper,
    )


def _due_kinds(
    *,
    loaded: Loaded,
    stores: Stores,
    waker: Waker,
    worker: WorkerId,
    runner: TurnRunner,
    intake: Intake,
    announcer: Announcer,
    archives: ArchiveWriter,
) -> list[DueKind]:
    """The sweeper's table. A new kind of due item is one row here and a prefix in store/keys.py."""
    fleet, reader, tree = stores.fleet, stores.reader, stores.tree
    control = control_of(stores, waker, archives)
    max_turns = loaded.settings.session.agent_to_agent.max_ping_pong_turns
    relay = AnswerRelay(stores.exchanges, reader, intake, max_turns=max_turns)
    turns = DueTurns(
        fleet=fleet,
        sessions=stores.sessions,
        reader=reader,
        waker=waker,
        runner=runner,
        worker=worker,
        caps=stores.caps,
        max_attempts=loaded.settings.engine.max_attempts,
    )
    orphans = DueOrphans(stores.orphans, fleet, reader, runner, lease_ms=stores.timing.lease_ms)
    return [
        DueKind(TURN, turns.handle, on_sweep=turns.start_sweep),
        DueKind(BATCH, DueBatches(announcer).handle),
        DueKind(REAP, DueReaps(control).handle),
        DueKind(RELAY, DueRelays(relay).handle),
        DueKind(ORPHAN, orphans.handle),
        DueKind(FORGET, DueRecords(tree).handle),
        DueKind(CLEANUP, DueCleanups(fleet, reader, tree, control).handle),
        DueKind(ARCHIVE, DueArchives(fleet, archives).handle, is_slow=True),
    ]
