"""What runs turns, and what answers questions about how a turn would run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from openclaw_workers.config.resolve import model_aliases
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.sandbox.report import SandboxReports
from openclaw_workers.engine.schedules.heartbeat import has_block
from openclaw_workers.engine.skills.report import SkillReports
from openclaw_workers.engine.tool_graph import ToolGraph
from openclaw_workers.engine.tree.lineage import is_sandboxed
from openclaw_workers.engine.turn.agent_frame import AgentFrames
from openclaw_workers.engine.turn.execution import TurnExecution
from openclaw_workers.engine.turn.prepare import Preparer
from openclaw_workers.engine.turn.received_files import ReceivedFiles
from openclaw_workers.engine.turn.reset_policy import ResetPolicy
from openclaw_workers.engine.turn.runner import TurnRunner
from openclaw_workers.engine.turn.take_at_place import PlacedTurns
from openclaw_workers.engine.turn.tool_report import ToolReports
from openclaw_workers.engine.turn.turn_hooks import TurnHooks


@dataclass(frozen=True)
class TurnGraph(ToolGraph):
    """Adds what a turn passes through, from its preparation to its commit."""

    @cached_property
    def resets(self) -> ResetPolicy:
        return ResetPolicy(self.loaded.settings.session, self.agents)

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
    def placed_turns(self) -> PlacedTurns:
        return PlacedTurns(
            turns=self.turns,
            agents=self.agents,
            resets=self.resets,
            transcripts=self.transcripts,
            process=self.process,
            waker=self.waker,
            chats=self.chats,
            places=self.places,
        )

    @cached_property
    def runner(self) -> TurnRunner:
        return TurnRunner(
            turns=self.turns,
            placed=self.placed_turns,
            execution=self.execution,
            transcripts=self.transcripts,
            lost_calls=self.lost_calls,
            reader=self.stores.reader,
            process=self.process,
            waker=self.waker,
            chats=self.chats,
            hooks=TurnHooks(self.hooks, self.stores.reader),
            max_attempts=self.loaded.settings.engine.max_attempts,
            on_delayed=self.sweep_wanted.set,
        )

    @cached_property
    def tool_reports(self) -> ToolReports:
        return ToolReports(self.agents, self.preparer, self.tool_policy, self.stores.reader)

    @cached_property
    def skill_reports(self) -> SkillReports:
        agents = self.agents
        return SkillReports(
            self.loaded.settings, self.skills, resolve=agents.resolve, workspace=agents.workspace, judge=self.worker
        )

    @cached_property
    def sandbox_reports(self) -> SandboxReports:
        return SandboxReports(self.agents, self.sandboxes, self._is_sandboxed)

    def _is_sandboxed(self, session: SessionKey) -> bool:
        agent = self.agents.resolve(agent_of(session))
        return is_sandboxed(agent, session, self.loaded.settings.session.main_key)
