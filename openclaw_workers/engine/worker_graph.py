"""The composition root of workers: builds the engine's objects from one configuration, each with what it needs.

There is one graph for each version of the configuration, and a turn uses the objects of one graph to its end. The
graph is written in four layers, each a class that adds objects to the one below: `base_graph` (what all share),
`tool_graph` (what tools reach), `turn_graph` (what runs turns) and this module (the sweep, jobs and services).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from openclaw_workers.domain.ids import SessionKey, new_token
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.archives.lines import ArchiveLines
from openclaw_workers.engine.client_graph import (
    control_of,
    firing_of,
    job_creators_of,
    job_delivery_of,
    maintenance_of,
    system_events_of,
)
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.maintenance.archive_files import ArchiveFiles
from openclaw_workers.engine.maintenance.sessions import SessionMaintenance
from openclaw_workers.engine.memory.session_notes import SessionNotes
from openclaw_workers.engine.memory.slugs import SlugModel
from openclaw_workers.engine.place_service import PlaceService
from openclaw_workers.engine.schedules.declared import DeclaredJobs
from openclaw_workers.engine.schedules.fire import DueJobs
from openclaw_workers.engine.schedules.heartbeat import Heartbeats
from openclaw_workers.engine.schedules.settle import DueFirings
from openclaw_workers.engine.sessions.relay import AnswerRelay
from openclaw_workers.engine.shell.finished import FinishedCommands
from openclaw_workers.engine.shell.running import RunningCommands
from openclaw_workers.engine.skills.publish import SkillPublisher
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.sweep.archive import DueArchives
from openclaw_workers.engine.sweep.batch import DueBatches
from openclaw_workers.engine.sweep.cleanup import DueCleanups
from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.forget import DueRecords
from openclaw_workers.engine.sweep.lost_model_call import DueLostCalls
from openclaw_workers.engine.sweep.memory_note import DueMemoryNotes
from openclaw_workers.engine.sweep.pace import SweepPace
from openclaw_workers.engine.sweep.recover_turn import DueTurns
from openclaw_workers.engine.sweep.relay import DueRelays
from openclaw_workers.engine.sweep.stop_children import DueStopOrders
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.turn_graph import TurnGraph
from openclaw_workers.engine.wake import Waker
from openclaw_workers.store.keys import (
    ARCHIVE,
    BATCH,
    CLEANUP,
    FIRING,
    FORGET,
    JOB,
    LOST_CALL,
    MAINTENANCE,
    MEMORY_NOTE,
    RELAY,
    STOP_CHILDREN,
    TURN,
)


@dataclass(frozen=True)
class WorkerEngine(TurnGraph):
    """Adds the work beside turns: due items, scheduled jobs, archives and the services of a place."""

    @cached_property
    def announcer(self) -> Announcer:
        return announcer_of(self.stores, self.waker, self.agents, self.chats)

    @cached_property
    def skill_publisher(self) -> SkillPublisher:
        return SkillPublisher(
            store=self.stores.skill_commands,
            catalog=self.skills,
            agents=self.agents,
            settings=self.loaded.settings,
            is_elsewhere=self.places.is_elsewhere,
        )

    @cached_property
    def finished_commands(self) -> FinishedCommands:
        events = system_events_of(self.stores, self.waker)
        return FinishedCommands(self.commands, events, self.sandboxes.directory.prune)

    @cached_property
    def place_service(self) -> PlaceService:
        """A thread for each graph: it answers with the configuration of this one."""
        return PlaceService(
            self.stores.place_requests,
            [self.memory.owner, ArchiveLines(self.loaded.state_dir), RunningCommands(self.commands)],
            place=lambda: self.archives.place_id,
            token=f"{self.worker}/{new_token()}",
        )

    @cached_property
    def session_notes(self) -> SessionNotes:
        slugs = SlugModel(self.models, self.turns.record_calls)
        notes, access = self.stores.memory_notes, self.memory.access
        return SessionNotes(notes, self.agents, self.loaded.state_dir, slugs, access, workspace_of=self.workspace_of)

    def workspace_of(self, session: SessionKey) -> Path:
        """Where the files of a session are: in its sandbox, if that has a directory of its own."""
        agent = self.agents.resolve(agent_of(session))
        workspace = self.agents.workspace(agent.id)
        if not self._is_sandboxed(session):
            return workspace
        return self.sandboxes.plan(session, agent, workspace).workspace

    @cached_property
    def heartbeats(self) -> Heartbeats:
        return Heartbeats(
            settings=self.loaded.settings,
            agents=self.agents,
            reader=self.stores.reader,
            events=self.stores.system_events,
            schedules=self.stores.schedules,
            targets=self.targets,
        )

    @cached_property
    def declared_jobs(self) -> DeclaredJobs:
        return DeclaredJobs(self.stores.schedules, self.stores.due, self.heartbeats, self.loaded.settings)

    @cached_property
    def due_jobs(self) -> DueJobs:
        stores = self.stores
        return DueJobs(
            store=stores.schedules,
            due=stores.due,
            firing=firing_of(stores, self.waker),
            beats=self.heartbeats,
            creators=job_creators_of(stores),
            delivery=job_delivery_of(stores),
            is_enabled=self.loaded.settings.cron.enabled,
            is_elsewhere=self.places.is_elsewhere,
        )

    @cached_property
    def due_firings(self) -> DueFirings:
        stores, settings = self.stores, self.loaded.settings
        return DueFirings(
            store=stores.schedules,
            due=stores.due,
            inbox=stores.inbox,
            reader=stores.reader,
            sessions=stores.sessions,
            tree=stores.tree,
            delivery=job_delivery_of(stores),
            retention_ms=int(settings.cron.session_retention.total_seconds() * 1000),
        )

    @cached_property
    def maintenance(self) -> SessionMaintenance:
        return maintenance_of(self.stores, self.waker, self.archives)

    @cached_property
    def archive_files(self) -> ArchiveFiles:
        block, place = self.loaded.settings.session.maintenance, lambda: self.archives.place_id
        retention = block.reset_archive_retention if block else None
        return ArchiveFiles(self.stores.session_index, self.loaded.state_dir, place, retention)

    @cached_property
    def sweeper(self) -> Sweeper:
        return Sweeper(
            self.stores.due,
            self.stores.workers,
            self.stores.reader,
            self.due_kinds,
            place_id=lambda: self.archives.place_id,
            wanted=self.sweep_wanted,
            pace=SweepPace(self.loaded.settings.engine.sweep_seconds),
        )

    @cached_property
    def due_kinds(self) -> Sequence[DueKind]:
        """The sweeper's table. A new kind of due item is one row here and a prefix in store/keys.py."""
        stores, settings = self.stores, self.loaded.settings
        due, reader, tree = stores.due, stores.reader, stores.tree
        control = control_of(stores, self.waker, self.archives)
        max_turns = settings.session.agent_to_agent.max_ping_pong_turns
        relay = AnswerRelay(stores.exchanges, reader, self.intake, max_turns=max_turns)
        lost_calls = DueLostCalls(
            stores.lost_calls, due, stores.workers, reader, self.runner, lease_ms=stores.timing.lease_ms
        )
        turns = DueTurns(
            leases=stores.leases,
            waker=self.waker,
            runner=self.runner,
            worker=self.worker,
            caps=stores.caps,
            max_attempts=settings.engine.max_attempts,
            is_placed=self.places.is_placed,
            chats=self.chats,
        )
        notes = DueMemoryNotes(due, stores.memory_notes, self.waker, lambda: self.archives.place_id)
        return (
            DueKind(TURN, turns.handle, on_sweep=turns.start_sweep),
            DueKind(BATCH, DueBatches(self.announcer).handle),
            DueKind(STOP_CHILDREN, DueStopOrders(control).handle),
            DueKind(RELAY, DueRelays(relay).handle),
            DueKind(LOST_CALL, lost_calls.handle),
            DueKind(FORGET, DueRecords(tree).handle),
            DueKind(CLEANUP, DueCleanups(due, reader, tree, control).handle),
            DueKind(JOB, self.due_jobs.handle, on_sweep=self.declared_jobs.sync_now_and_then, is_paced=True),
            DueKind(FIRING, self.due_firings.handle, is_paced=True),
            DueKind(
                ARCHIVE,
                DueArchives(due, self.archives).handle,
                on_sweep=self.archive_files.prune_now_and_then,
                is_slow=True,
            ),
            DueKind(MAINTENANCE, self.maintenance.handle, on_sweep=self.maintenance.ensure_due, is_slow=True),
            # Skills have no due items. They are published here only because each sweep calls `on_sweep`.
            DueKind(MEMORY_NOTE, notes.handle, on_sweep=self.skill_publisher.publish_now_and_then),
        )


def announcer_of(stores: Stores, waker: Waker, agents: AgentConfigs, chats: ChatDelivery) -> Announcer:
    return Announcer(
        tree=stores.tree,
        due=stores.due,
        reader=stores.reader,
        keys=stores.keys,
        agents=agents,
        waker=waker,
        chats=chats,
    )
