"""The composition root: builds the engine's objects from one configuration, each with what it needs.

Only this module, the worker and the CLI's context know all stores. There is one graph for each version of the
configuration, and a turn uses the objects of one graph to its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from pathlib import Path

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.turn_setup import TurnPorts
from openclaw_workers.config.elevated import is_elevated_enabled
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import model_aliases, placed_workspaces
from openclaw_workers.config.secrets import secret_values
from openclaw_workers.domain.ids import SessionKey, WorkerId, new_token
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.approvals.turn_approvals import ExecApprovals
from openclaw_workers.engine.approvals.turn_questions import QuestionTools
from openclaw_workers.engine.archives.lines import ArchiveLines
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.client_graph import (
    chats_of,
    control_of,
    firing_of,
    intake_of,
    job_delivery_of,
    jobs_of,
    maintenance_of,
    makers_of,
    system_events_of,
)
from openclaw_workers.engine.delivery.chats import ChatDelivery, push_channels
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.maintenance.archive_files import ArchiveFiles
from openclaw_workers.engine.maintenance.sessions import SessionMaintenance
from openclaw_workers.engine.memory.embedding_calls import EmbeddingCalls
from openclaw_workers.engine.memory.graph import MemoryGraph
from openclaw_workers.engine.memory.session_notes import SessionNotes
from openclaw_workers.engine.memory.slugs import SlugModel
from openclaw_workers.engine.memory.tool_port import MemoryTools
from openclaw_workers.engine.messaging.turn_messages import MessageTools
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.engine.place_service import PlaceService
from openclaw_workers.engine.sandbox.report import SandboxReports
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes
from openclaw_workers.engine.schedules.declared import DeclaredJobs
from openclaw_workers.engine.schedules.fire import DueJobs
from openclaw_workers.engine.schedules.heartbeat import Heartbeats, has_block
from openclaw_workers.engine.schedules.settle import DueFirings
from openclaw_workers.engine.schedules.targets import Targets
from openclaw_workers.engine.schedules.tool_port import ScheduleTools
from openclaw_workers.engine.sessions.relay import AnswerRelay
from openclaw_workers.engine.sessions.tool_port import SessionTools
from openclaw_workers.engine.shell.finished import FinishedCommands
from openclaw_workers.engine.shell.running import RunningCommands
from openclaw_workers.engine.skills.catalog_of import skill_catalog
from openclaw_workers.engine.skills.plugin_folders import plugin_folders
from openclaw_workers.engine.skills.publish import SkillPublisher
from openclaw_workers.engine.skills.report import SkillReports
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.sweep.archive import DueArchives
from openclaw_workers.engine.sweep.batch import DueBatches
from openclaw_workers.engine.sweep.cleanup import DueCleanups
from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.forget import DueRecords
from openclaw_workers.engine.sweep.lost_model_call import DueLostCalls
from openclaw_workers.engine.sweep.memory_note import DueMemoryNotes
from openclaw_workers.engine.sweep.pace import SweepPace
from openclaw_workers.engine.sweep.relay import DueRelays
from openclaw_workers.engine.sweep.stop_children import DueStopOrders
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.engine.sweep.turn import DueTurns
from openclaw_workers.engine.tree.announce import Announcer
from openclaw_workers.engine.tree.lineage import is_sandboxed
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.engine.turn.agent_frame import AgentFrames
from openclaw_workers.engine.turn.execution import TurnExecution
from openclaw_workers.engine.turn.lost_model_calls import LostCalls
from openclaw_workers.engine.turn.prepare import Preparer
from openclaw_workers.engine.turn.received_files import ReceivedFiles
from openclaw_workers.engine.turn.reset_policy import ResetPolicy
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.turn.sandboxing import TurnSandboxes
from openclaw_workers.engine.turn.tool_report import ToolReports
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.turn.turn_hooks import TurnHooks
from openclaw_workers.engine.wake import Waker
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.hooks import Hooks
from openclaw_workers.redaction import protect
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.sandbox.directory import BACKEND_FILES, SANDBOXES_DIR, SandboxDirectory
from openclaw_workers.skills.catalog import SkillCatalog
from openclaw_workers.store.archives import Archive
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
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.rate_limits import RateLimits
from openclaw_workers.store.memory_vectors import MemoryVectors
from openclaw_workers.store.turn_records import Taken, TurnRules
from openclaw_workers.store.turns import Turns
from openclaw_workers.tools.catalog import ToolCatalog
from openclaw_workers.tools.mcp.servers import NO_SERVERS, McpServers
from openclaw_workers.tools.plugins.load import NO_PLUGINS, Plugins
from openclaw_workers.tools.policy.policy import ToolPolicy
from openclaw_workers.tools.policy.tool_secrets import ToolSecrets
from openclaw_workers.tools.shell.background_commands import COMMANDS_DIR, CommandDirectory
from openclaw_workers.tools.shell.start import run_briefly
from openclaw_workers.tools.web.on_first_use import WebOnFirstUse, disabled_tools
from openclaw_workers.tools.web.port import WebPort


@dataclass(frozen=True)
class WorkerEngine:
    """The engine of one worker process. Each part is built when the first object that needs it is built."""

    loaded: Loaded
    stores: Stores
    waker: Waker
    process: WorkerState
    worker: WorkerId
    _: KW_ONLY
    default_model: str
    sweep_wanted: threading.Event = field(default_factory=threading.Event)
    """Set by the runner when a commit leaves work that is due soon; the sweeper waits for it."""
    plugins: Plugins = NO_PLUGINS
    mcp: McpServers = NO_SERVERS
    host_places: HostPlaces | None = None
    """Those of the process, which outlive a version of the configuration."""

    @cached_property
    def places(self) -> HostPlaces:
        return self.host_places or HostPlaces(placed_workspaces(self.loaded.settings, self.loaded.state_dir))

    @cached_property
    def turns(self) -> Turns:
        stores, timing = self.stores, self.stores.timing
        rules = TurnRules(timing.lease_ms, timing.rewake_ms, timing.grant_ms)
        return Turns(stores.redis, stores.keys, self.worker, rules, stores.caps)

    @cached_property
    def agents(self) -> AgentConfigs:
        return AgentConfigs(self.loaded.settings, self.loaded.state_dir, default_model=self.default_model)

    @cached_property
    def models(self) -> Models:
        redis, keys = self.stores.redis, self.stores.keys
        cooldowns, limits = Cooldowns(redis, keys), RateLimits(redis, keys)
        return Models(self.loaded.settings, self.loaded.state_dir, cooldowns, limits)

    @cached_property
    def frames(self) -> AgentFrames:
        settings = self.loaded.settings
        return AgentFrames(
            self.agents,
            self.models,
            model_aliases=sorted(model_aliases(settings).items()),
            max_model_calls=settings.engine.max_steps,
            tool_timeout_seconds=settings.engine.tool_timeout_seconds,
            memory=settings.memory,
            web=self.web,
            catalog=self.catalog,
            skills=self.skills,
            policy=self.tool_policy,
            beats=lambda agent_id: has_block(settings, agent_id),
        )

    @cached_property
    def catalog(self) -> ToolCatalog:
        return ToolCatalog(self.plugins, self.mcp)

    @cached_property
    def skills(self) -> SkillCatalog:
        return skill_catalog(self.loaded.settings, self.loaded.state_dir, plugin_folders(self.plugins))

    @cached_property
    def skill_reports(self) -> SkillReports:
        agents = self.agents
        return SkillReports(
            self.loaded.settings, self.skills, resolve=agents.resolve, workspace=agents.workspace, judge=self.worker
        )

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
    def tool_policy(self) -> ToolPolicy:
        settings = self.loaded.settings
        return ToolPolicy(settings, self.catalog.tools, disabled=disabled_tools(settings.tools.web))

    @cached_property
    def web(self) -> WebPort:
        return WebOnFirstUse(self.loaded.settings.tools.web)

    @cached_property
    def resets(self) -> ResetPolicy:
        return ResetPolicy(self.loaded.settings.session, self.agents)

    @cached_property
    def transcripts(self) -> TranscriptCache:
        return TranscriptCache(self.stores.reader)

    @cached_property
    def calibration(self) -> Calibration:
        return Calibration()

    @cached_property
    def lost_calls(self) -> LostCalls:
        return LostCalls(self.agents, self.models, self.stores.reader)

    @cached_property
    def preparer(self) -> Preparer:
        return Preparer(
            agents=self.agents,
            frames=self.frames,
            models=self.models,
            transcripts=self.transcripts,
            calibration=self.calibration,
            reader=self.stores.reader,
            received=ReceivedFiles(self.stores.uploads, self.places.is_elsewhere),
            sandboxes=self.turn_sandboxes,
            main_key=self.loaded.settings.session.main_key,
        )

    @cached_property
    def turn_sandboxes(self) -> TurnSandboxes:
        settings = self.loaded.settings
        may_elevate = partial(is_elevated_enabled, settings)
        return TurnSandboxes(self.sandboxes, self.agents, may_elevate, settings.session.main_key)

    @cached_property
    def sandboxes(self) -> Sandboxes:
        return sandboxes_of(self.loaded)

    @cached_property
    def tool_reports(self) -> ToolReports:
        return ToolReports(self.agents, self.preparer, self.tool_policy, self.stores.reader)

    @cached_property
    def chats(self) -> ChatDelivery:
        return chats_of(self.loaded.settings)

    @cached_property
    def intake(self) -> Intake:
        return intake_of(self.stores, self.waker)

    @cached_property
    def session_tools(self) -> SessionTools:
        stores = self.stores
        return SessionTools(
            spawner=spawner_of(stores, self.waker, self.loaded, self.agents, self.turn_sandboxes.workspace),
            intake=self.intake,
            control=control_of(stores, self.waker),
            inbox=stores.inbox,
            reader=stores.reader,
            sessions=stores.sessions,
            tree=stores.tree,
            exchanges=stores.exchanges,
            agents=self.agents,
            settings=self.loaded.settings,
            search_memory=self.memory.access.search,
        )

    @cached_property
    def schedule_tools(self) -> ScheduleTools:
        stores = self.stores
        return ScheduleTools(
            jobs=jobs_of(stores, self.waker),
            events=system_events_of(stores, self.waker),
            targets=self.targets,
            reader=stores.reader,
            makers=makers_of(stores),
        )

    @cached_property
    def execution(self) -> TurnExecution:
        return TurnExecution(
            turns=self.turns,
            preparer=self.preparer,
            models=self.models,
            lost_calls=self.lost_calls,
            calibration=self.calibration,
            reader=self.stores.reader,
            process=self.process,
            ports_of=self._ports_of,
            transcripts=self.transcripts,
        )

    @cached_property
    def question_tools(self) -> QuestionTools:
        stores, settings = self.stores, self.loaded.settings
        return QuestionTools(
            questions=stores.questions,
            outbox=stores.outbox,
            reader=stores.reader,
            policy=settings.session.send_policy,
            push_channels=push_channels(settings),
        )

    @cached_property
    def tool_secrets(self) -> ToolSecrets:
        return ToolSecrets(self.loaded.settings.secrets)

    @cached_property
    def hooks(self) -> Hooks:
        engine = self.loaded.settings.engine
        return Hooks(seconds=engine.hook_timeout_seconds, failure=engine.hook_failure)

    @cached_property
    def message_tools(self) -> MessageTools:
        stores, settings = self.stores, self.loaded.settings
        return MessageTools(
            outbox=stores.outbox,
            reader=stores.reader,
            policy=settings.session.send_policy,
            push_channels=push_channels(settings),
        )

    @cached_property
    def exec_approvals(self) -> ExecApprovals:
        return ExecApprovals(agents=self.agents, standing=self.stores.standing_approvals)

    def _ports_of(self, taken: Taken) -> TurnPorts:
        questions = self.question_tools.for_turn(taken)
        return TurnPorts(
            messages=self.message_tools.for_turn(taken),
            questions=questions,
            approvals=self.exec_approvals.for_turn(questions),
            hooks=self.hooks,
            secrets=self.tool_secrets.of,
            sessions=self.session_tools.for_turn(taken),
            memory=self.memory_tools.for_turn(taken),
            schedules=self.schedule_tools.for_turn(taken),
            commands=self._commands_of(taken),
        )

    def _commands_of(self, taken: Taken) -> CommandDirectory:
        settings = self.agents.of_session(taken.lease.session).tools.exec
        return CommandDirectory(
            self.commands.root,
            authority=taken.authority,
            notifies=settings.notify_on_exit,
            keep_ms=settings.cleanup_ms,
        )

    @cached_property
    def commands(self) -> CommandDirectory:
        return CommandDirectory(self.loaded.state_dir / COMMANDS_DIR)

    @cached_property
    def finished_commands(self) -> FinishedCommands:
        events = system_events_of(self.stores, self.waker)
        return FinishedCommands(self.commands, events, self.sandboxes.directory.prune)

    @cached_property
    def memory(self) -> MemoryGraph:
        redis, keys = self.stores.redis, self.stores.keys
        embedding_calls = EmbeddingCalls(self.models, self.turns.record_calls)
        return MemoryGraph(
            settings=self.loaded.settings,
            state_dir=self.loaded.state_dir,
            agents=self.agents,
            reader=self.stores.reader,
            requests=self.stores.memory,
            places=PlaceClient(self.stores.place_requests),
            place=lambda: self.archives.place_id,
            cache=lambda size: MemoryVectors(redis, keys, max_entries=size),
            embedding_call=embedding_calls.call,
            making=threading.Lock(),
        )

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
    def memory_tools(self) -> MemoryTools:
        return MemoryTools(
            access=lambda: self.memory.access,
            agents=self.agents,
            settings=self.loaded.settings,
            state_dir=self.loaded.state_dir,
        )

    @cached_property
    def session_notes(self) -> SessionNotes:
        slugs = SlugModel(self.models, self.turns.record_calls)
        notes, access = self.stores.memory_notes, self.memory.access
        return SessionNotes(notes, self.agents, self.loaded.state_dir, slugs, access, workspace_of=self.workspace_of)

    @cached_property
    def sandbox_reports(self) -> SandboxReports:
        return SandboxReports(self.agents, self.sandboxes, self._is_sandboxed)

    def _is_sandboxed(self, session: SessionKey) -> bool:
        agent = self.agents.resolve(agent_of(session))
        return is_sandboxed(agent, session, self.loaded.settings.session.main_key)

    def workspace_of(self, session: SessionKey) -> Path:
        """Where the files of a session are: in its sandbox, if that has a directory of its own."""
        agent = self.agents.resolve(agent_of(session))
        workspace = self.agents.workspace(agent.id)
        if not self._is_sandboxed(session):
            return workspace
        return self.sandboxes.plan(session, agent, workspace).workspace

    @cached_property
    def runner(self) -> TurnRunner:
        protect(secret_values(self.loaded.settings))
        return TurnRunner(
            turns=self.turns,
            execution=self.execution,
            agents=self.agents,
            resets=self.resets,
            transcripts=self.transcripts,
            lost_calls=self.lost_calls,
            reader=self.stores.reader,
            process=self.process,
            waker=self.waker,
            chats=self.chats,
            hooks=TurnHooks(self.hooks, self.stores.reader),
            places=self.places,
            max_attempts=self.loaded.settings.engine.max_attempts,
            on_delayed=self.sweep_wanted.set,
        )

    @cached_property
    def announcer(self) -> Announcer:
        return announcer_of(self.stores, self.waker, self.agents, self.chats)

    @cached_property
    def archives(self) -> ArchiveWriter:
        stores, loaded = self.stores, self.loaded
        return ArchiveWriter(
            stores.archives,
            loaded.settings,
            loaded.state_dir,
            stores.memory_notes,
            is_elsewhere=self.places.is_elsewhere,
            on_written=self._session_ended,
        )

    def _session_ended(self, archive: Archive) -> None:
        about = {"sessionKey": archive.session_key, "sessionId": archive.session_id, "agentId": archive.agent_id}
        self.hooks.fire("session_end", {**about, "deleted": archive.is_deleted})

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
    def targets(self) -> Targets:
        return Targets(self.loaded.settings, self.stores.reader)

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
            makers=makers_of(stores),
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
            DueKind(MEMORY_NOTE, notes.handle, on_sweep=self.skill_publisher.publish_now_and_then),
        )


def sandboxes_of(loaded: Loaded) -> Sandboxes:
    directory, defaults = SandboxDirectory(loaded.state_dir / SANDBOXES_DIR), loaded.settings.agents.defaults.sandbox
    backend = Bubblewrap(directory.root / BACKEND_FILES, run_briefly, uid_base=defaults.uid_base)
    return Sandboxes(directory, backend, defaults)


def spawner_of(
    stores: Stores, waker: Waker, loaded: Loaded, agents: AgentConfigs, workspace_of: Callable[[Taken], Path]
) -> Spawner:
    return Spawner(
        tree=stores.tree,
        reader=stores.reader,
        waker=waker,
        uploads=stores.uploads,
        agents=agents,
        settings=loaded.settings,
        state_dir=loaded.state_dir,
        workspace_of=workspace_of,
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
