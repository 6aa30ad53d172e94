"""What the tools of a turn reach: files, commands, the web, memory, other sessions, jobs and chats."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from openclaw_workers.agent.turn_setup import TurnPorts
from openclaw_workers.config.elevated import is_elevated_enabled
from openclaw_workers.config.loader import Loaded
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.approvals.turn_approvals import ExecApprovals
from openclaw_workers.engine.approvals.turn_questions import QuestionTools
from openclaw_workers.engine.base_graph import BaseGraph
from openclaw_workers.engine.client_graph import (
    control_of,
    job_creators_of,
    jobs_of,
    system_events_of,
)
from openclaw_workers.engine.delivery.chats import push_channels
from openclaw_workers.engine.memory.embedding_calls import EmbeddingCalls
from openclaw_workers.engine.memory.graph import MemoryGraph
from openclaw_workers.engine.memory.tool_port import MemoryTools
from openclaw_workers.engine.messaging.turn_messages import MessageTools
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.engine.sandbox.sandboxes import Sandboxes
from openclaw_workers.engine.schedules.tool_port import ScheduleTools
from openclaw_workers.engine.sessions.tool_port import SessionTools
from openclaw_workers.engine.skills.catalog_of import skill_catalog
from openclaw_workers.engine.skills.plugin_folders import plugin_folders
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.engine.turn.turn_sandboxes import TurnSandboxes
from openclaw_workers.engine.wake import Waker
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.sandbox.directory import BACKEND_FILES, SANDBOXES_DIR, SandboxDirectory
from openclaw_workers.skills.catalog import SkillCatalog
from openclaw_workers.store.memory_vectors import MemoryVectors
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.catalog import ToolCatalog
from openclaw_workers.tools.policy.policy import ToolPolicy
from openclaw_workers.tools.policy.tool_secrets import ToolSecrets
from openclaw_workers.tools.shell.background_commands import COMMANDS_DIR, CommandDirectory
from openclaw_workers.tools.shell.start import run_briefly
from openclaw_workers.tools.web.on_first_use import WebOnFirstUse, disabled_tools
from openclaw_workers.tools.web.port import WebPort


@dataclass(frozen=True)
class ToolGraph(BaseGraph):
    """Adds the tools, and the ports through which the tools of a turn reach the engine."""

    @cached_property
    def catalog(self) -> ToolCatalog:
        return ToolCatalog(self.plugins, self.mcp)

    @cached_property
    def skills(self) -> SkillCatalog:
        return skill_catalog(self.loaded.settings, self.loaded.state_dir, plugin_folders(self.plugins))

    @cached_property
    def web(self) -> WebPort:
        return WebOnFirstUse(self.loaded.settings.tools.web)

    @cached_property
    def tool_policy(self) -> ToolPolicy:
        settings = self.loaded.settings
        return ToolPolicy(settings, self.catalog.tools, disabled=disabled_tools(settings.tools.web))

    @cached_property
    def sandboxes(self) -> Sandboxes:
        return sandboxes_of(self.loaded)

    @cached_property
    def turn_sandboxes(self) -> TurnSandboxes:
        settings = self.loaded.settings
        may_elevate = partial(is_elevated_enabled, settings)
        return TurnSandboxes(self.sandboxes, self.agents, may_elevate, settings.session.main_key)

    @cached_property
    def commands(self) -> CommandDirectory:
        return CommandDirectory(self.loaded.state_dir / COMMANDS_DIR)

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
            creators=job_creators_of(stores),
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
    def message_tools(self) -> MessageTools:
        stores, settings = self.stores, self.loaded.settings
        return MessageTools(
            outbox=stores.outbox,
            reader=stores.reader,
            policy=settings.session.send_policy,
            push_channels=push_channels(settings),
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
    def exec_approvals(self) -> ExecApprovals:
        return ExecApprovals(agents=self.agents, standing=self.stores.standing_approvals)

    @cached_property
    def tool_secrets(self) -> ToolSecrets:
        return ToolSecrets(self.loaded.settings.secrets)

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
