"""What is built once and serves many turns: an agent's setup, and its system prompt in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from openclaw_workers.agent.prompt.sections import PromptPart, for_programs, prompt_parts, split, with_extra
from openclaw_workers.agent.prompt.workspace_files import FULL, Signature, signature
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.clock import zone_of
from openclaw_workers.config.memory import MemorySettings
from openclaw_workers.config.resolve import AgentConfig, Overrides
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.agent_configs import NOTHING, AgentConfigs
from openclaw_workers.engine.intake.commands.prompt_report import part_sizes, prompt_report, stored
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.turn.overrides import Shown
from openclaw_workers.engine.turn.prompt_facts import SessionPosition, prompt_facts
from openclaw_workers.skills.catalog import NO_SKILLS, AgentSkills, SkillCatalog
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.catalog import ToolCatalog, ToolSet
from openclaw_workers.tools.files.changes import WRITING_TOOLS
from openclaw_workers.tools.memory.port import shows_citations
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.policy import ToolPolicy
from openclaw_workers.tools.registry import specs
from openclaw_workers.tools.web.port import WebPort


@dataclass(frozen=True, slots=True)
class AgentFrame:
    """What all turns of an agent with the same overrides and the same files have in common."""

    setup: TurnSetup
    agent: AgentConfig
    parts: Sequence[PromptPart]
    can_call_tools: bool = True
    """Whether the agent's first model calls our tools; a program has its own."""
    report: dict[str, Any] = field(default_factory=dict)
    stored_report: str = ""
    skills: AgentSkills = NO_SKILLS
    """The skills that its turns may use."""

    @property
    def sent_parts(self) -> Sequence[PromptPart]:
        """The parts that the agent's first model is sent."""
        return self.parts if self.can_call_tools else for_programs(self.parts)

    def adding(self, text: str, role: Role) -> AgentFrame:
        """The frame with a message's own system prompt. Not cached, or each such text would stay in memory."""
        parts = with_extra(self.parts, text, role)
        frame = replace(self, setup=replace(with_prompt(self.setup, parts), system_extra=text), parts=parts)
        report = {**self.report, "parts": part_sizes(frame.sent_parts, self.agent.primary)}
        return replace(frame, report=report, stored_report=stored(report))


def with_prompt(setup: TurnSetup, parts: Sequence[PromptPart]) -> TurnSetup:
    system, tail, worker = split(parts)
    of_programs, _, _ = split(for_programs(parts))
    return replace(setup, system=system, system_tail=tail, worker_line=worker, system_of_programs=of_programs)


def policy_inputs(agent: AgentConfig, position: SessionPosition) -> PolicyInputs:
    """What the tool policy of a turn depends on."""
    return PolicyInputs(
        agent_id=agent.id,
        model=agent.primary,
        depth=position.depth,
        role=position.role,
        authority=position.authority,
        group=position.group,
        is_sandboxed=position.is_sandboxed,
        incompatible=position.incompatible_tools,
    )


class AgentFrames:
    def __init__(
        self,
        agents: AgentConfigs,
        models: Models,
        *,
        model_aliases: Sequence[tuple[str, str]],
        max_model_calls: int,
        tool_timeout_seconds: float,
        memory: MemorySettings,
        web: WebPort,
        catalog: ToolCatalog,
        skills: SkillCatalog,
        policy: ToolPolicy,
        beats: Callable[[str], bool] = lambda agent_id: False,
    ) -> None:
        """`beats`: whether the configuration makes an agent beat."""
        self._agents = agents
        self._models = models
        self._web = web
        self._catalog = catalog
        self._skills = skills
        self._policy = policy
        self._beats = beats
        self._model_aliases = model_aliases
        self._max_model_calls = max_model_calls
        self._tool_timeout_seconds = tool_timeout_seconds
        self._memory = memory
        self._cached = lru_cache(maxsize=1024)(self._build)
        self._building = Lock()
        # The second is part of the key, so an entry is good for one second.
        self._files = lru_cache(maxsize=256)(lambda workspace, names, _second: signature(workspace, names))

    def frame(
        self, agent_id: str, session: Overrides, call: Overrides, position: SessionPosition, shown: Shown
    ) -> AgentFrame:
        """The frame for a turn.

        Raises:
            NotFound: there is no such agent.
            ProviderError: its model is not known.
        """
        agent = self._agents.resolve(agent_id, session, call)
        workspace = self._workspace(agent_id, session, call, position)
        names = self._file_names(agent, position)
        # A changed file is seen within a second; ten looks at the disk for each turn would cost more than the turn.
        files = self._files(workspace, names, int(time.monotonic()))
        skills, offered = self._skills_of(agent, position, workspace), self._catalog.tools()
        return self._get(agent_id, session, call, position, shown, files, offered=offered, skills=skills)

    def default(self, agent_id: str) -> AgentFrame:
        """The frame of an agent's own session without any overrides.

        Raises:
            NotFound: there is no such agent.
            ProviderError: its model is not known.
        """
        workspace, position = self._agents.workspace(agent_id), SessionPosition(0, Role.MAIN)
        files, offered = signature(workspace, FULL), self._catalog.tools()
        skills = self._skills_of(self._agents.resolve(agent_id), position, workspace)
        return self._get(agent_id, NOTHING, NOTHING, position, Shown(), files, offered=offered, skills=skills)

    def _skills_of(self, agent: AgentConfig, position: SessionPosition, workspace: Path) -> AgentSkills:
        """Only a full prompt lists skills, and only those that are listed are given what they need."""
        mode = agent.prompt_mode or ("full" if position.role is Role.MAIN else "minimal")
        return self._skills.for_agent(agent, workspace) if mode == "full" else NO_SKILLS

    def _workspace(self, agent_id: str, session: Overrides, call: Overrides, position: SessionPosition) -> Path:
        return position.sandbox.workspace if position.sandbox else self._agents.workspace(agent_id, session, call)

    def _file_names(self, agent: AgentConfig, position: SessionPosition) -> Sequence[str]:
        return position.file_names(agent, in_groups=self._memory.in_group_prompts)

    def _get(self, *key: Any, offered: ToolSet, skills: AgentSkills) -> AgentFrame:
        """One thread builds a frame while the others wait: turns that start together would all build the same one."""
        with self._building:
            return self._cached(*key, offered=offered, skills=skills)

    def _build(
        self,
        agent_id: str,
        session: Overrides,
        call: Overrides,
        position: SessionPosition,
        shown: Shown,
        _files: Signature,
        *,
        offered: ToolSet,
        skills: AgentSkills,
    ) -> AgentFrame:
        agent = self._agents.resolve(agent_id, session, call)
        workspace = self._workspace(agent_id, session, call, position)
        workspace.mkdir(parents=True, exist_ok=True)
        tools = self._tools(agent, position, offered)
        # Skills are files. Without the read tool their list and their secrets would be useless.
        if not any(tool.name == "read" for tool in tools):
            skills = NO_SKILLS
        facts = prompt_facts(
            agent,
            position,
            shown,
            workspace,
            specs(tools),
            names=self._file_names(agent, position),
            skills=skills.prompt,
            citations=shows_citations(self._memory.citations, is_group=position.is_group),
            model_aliases=self._model_aliases,
            beats=self._beats(agent.id),
        )
        parts, first = prompt_parts(facts), self._models.first(agent)
        window = first.provider.context_window(first.model)
        setup = self._setup(agent, tools, workspace, window, skills, shows_results=shown.verbose == "full")
        setup = replace(setup, denied_to=partial(self._denied, agent, position, offered))
        frame = AgentFrame(with_prompt(setup, parts), agent, parts, first.provider.can_call_tools, skills=skills)
        listed = setup.specs if frame.can_call_tools else ()
        room = min(window, agent.context_tokens or window)
        report = prompt_report(frame.sent_parts, facts.files, listed, model=agent.primary, window=room)
        return replace(frame, report=report, stored_report=stored(report))

    def _tools(self, agent: AgentConfig, position: SessionPosition, offered: ToolSet) -> list[Tool[Any]]:
        """The tools that the policy, the turn's message and its sandbox leave."""
        permitted = self._policy.tools(policy_inputs(agent, position), offered)
        # These tools run on the host, outside of the sandbox that would refuse the write.
        read_only = WRITING_TOOLS if position.sandbox is not None and position.sandbox.access == "ro" else ()
        allowed = position.only_tools
        return [tool for tool in permitted if (allowed is None or tool.name in allowed) and tool.name not in read_only]

    def _denied(self, agent: AgentConfig, position: SessionPosition, offered: ToolSet, model: str) -> frozenset[str]:
        """What the policy leaves to the agent's first model and not to this one, its fallback."""
        if model in ("", agent.primary):
            return frozenset()
        inputs = replace(policy_inputs(agent, position), model=model)
        allowed = {tool.name for tool in self._policy.tools(inputs, offered)}
        return frozenset(tool.name for tool in offered if tool.name not in allowed)

    def _setup(
        self,
        agent: AgentConfig,
        tools: Sequence[Tool[Any]],
        workspace: Path,
        window: int,
        skills: AgentSkills,
        *,
        shows_results: bool,
    ) -> TurnSetup:
        """What turns begin with, before their prompt and what belongs to one session is filled in."""
        return TurnSetup(
            agent_id=agent.id,
            session_key="",
            run_id="",
            window=window,
            system="",
            thinking=agent.thinking_default,
            tools={tool.name: tool for tool in tools},
            specs=specs(tools),
            workspace=workspace,
            started_call="",
            max_model_calls=self._max_model_calls,
            tool_timeout_seconds=self._tool_timeout_seconds,
            context_tokens=agent.context_tokens,
            zone=zone_of(agent.user_timezone),
            loop_detection=agent.tools.loop_detection,
            exec_seconds=agent.tools.exec.timeout_sec,
            yield_seconds=agent.tools.exec.background_ms / 1000,
            web=self._web,
            shows_results=shows_results,
            environment=skills.environment,
            skill_paths=skills.readable,
            skill_files=skills.files,
        )
