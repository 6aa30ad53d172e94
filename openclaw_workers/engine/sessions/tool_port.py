"""Sessions as one running turn may see and use them: what the session tools reach."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from openclaw_workers.config.resolve import agent_ids, resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.session_key import normalise
from openclaw_workers.domain.tree import AnnounceMode
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.sessions.search import SearchMemory, SessionSearch
from openclaw_workers.engine.sessions.send import SessionSender
from openclaw_workers.engine.sessions.subagents import SubagentControl
from openclaw_workers.engine.sessions.views import Views
from openclaw_workers.engine.sessions.visibility import Visibility
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.inter_session import InterSession
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.sessions.inputs import (
    HistoryInput,
    ListInput,
    SendInput,
    SessionsSearchInput,
    StatusInput,
    SubagentsInput,
)
from openclaw_workers.tools.sessions.port import SpawnCall


@dataclass(frozen=True, kw_only=True)
class SessionTools:
    """What the session tools of all turns share."""

    spawner: Spawner
    intake: Intake
    control: Control
    inbox: Inbox
    reader: Reader
    sessions: Sessions
    tree: Tree
    exchanges: InterSession
    agents: AgentConfigs
    settings: Settings
    search_memory: SearchMemory

    def for_turn(self, taken: Taken) -> TurnSessions:
        return TurnSessions(self, taken)


@dataclass(frozen=True)
class TurnSessions:
    """Implements tools.sessions.port.SessionPort for one turn."""

    tools: SessionTools
    taken: Taken

    @cached_property
    def parent(self) -> Parent:
        """Read when it is first needed: most turns use no other sessions."""
        return self.tools.spawner.parent(self.taken)

    def spawn(self, calls: Sequence[SpawnCall]) -> list[str]:
        return self.tools.spawner.spawn(self.parent, calls)

    def list_sessions(self, args: ListInput) -> str:
        return self._views().list(args)

    def history(self, args: HistoryInput) -> str:
        return self._views().history(args)

    def search(self, args: SessionsSearchInput) -> str:
        tools, parent = self.tools, self.parent
        main_key = tools.settings.session.main_key
        search = SessionSearch(
            search=tools.search_memory,
            reader=tools.reader,
            viewer=parent.session,
            sight=self._sight(),
            find=lambda wanted: normalise(wanted, default_agent=parent.agent.id, main_key=main_key),
        )
        return search.search(args)

    def status(self, args: StatusInput) -> str:
        return self._views().status(args)

    def send(self, call_id: str, args: SendInput) -> str:
        tools = self.tools
        sender = SessionSender(
            intake=tools.intake,
            inbox=tools.inbox,
            reader=tools.reader,
            exchanges=tools.exchanges,
            settings=tools.settings,
            sender=self.parent,
            sight=self._sight(),
        )
        return sender.send(call_id, args)

    def subagents(self, call_id: str, args: SubagentsInput) -> str:
        tools = self.tools
        control = SubagentControl(
            control=tools.control,
            intake=tools.intake,
            inbox=tools.inbox,
            reader=tools.reader,
            tree=tools.tree,
            controller=self.parent,
        )
        return control.act(call_id, args)

    def agents(self) -> str:
        settings, own = self.tools.settings, self.parent.agent
        listed = own.subagents.allow_agents or ()
        names = [each for each in agent_ids(settings) if each == own.id or each in listed or "*" in listed]
        agents = [{"id": each, "name": resolve_agent(settings, each).name, "configured": True} for each in names]
        return json.dumps({"status": "ok", "requester": own.id, "allowAny": "*" in listed, "agents": agents})

    def children_at_work(self) -> int:
        tree = self.tools.tree
        batches = [tree.batch(batch) for batch in tree.batches(self.parent.session)]
        announced = [batch for batch in batches if batch and batch.mode is not AnnounceMode.NONE]
        # A blocked batch wakes nobody.
        return sum(len(batch.members) for batch in announced if batch.state.is_pending)

    def _sight(self) -> Visibility:
        return Visibility(self.tools.settings, self.parent, self.tools.reader)

    def _views(self) -> Views:
        tools = self.tools
        return Views(
            reader=tools.reader,
            sessions=tools.sessions,
            tree=tools.tree,
            agents=tools.agents,
            settings=tools.settings,
            viewer=self.parent,
            sight=self._sight(),
        )
