"""What is put together once and serves many turns: an agent's setup, and its system prompt in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from openclaw_workers.agent.prompt.sections import PromptPart, for_programs, split, with_extra
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.intake.commands.prompt_report import part_sizes, stored


@dataclass(frozen=True, slots=True)
class AgentFrame:
    """What all turns of an agent with the same overrides and the same files have in common."""

    setup: TurnSetup
    agent: AgentConfig
    parts: Sequence[PromptPart]
    can_call_tools: bool = True
    """Whether the agent's first model does; a program has its own."""
    report: dict[str, Any] = field(default_factory=dict)
    stored_report: str = ""

    @property
    def told(self) -> Sequence[PromptPart]:
        """What the agent's first model is told."""
        return self.parts if self.can_call_tools else for_programs(self.parts)

    def adding(self, text: str, role: Role) -> AgentFrame:
        """For one message. It is no part of what frames are kept by, lest each such text be kept."""
        parts = with_extra(self.parts, text, role)
        frame = replace(self, setup=replace(with_prompt(self.setup, parts), system_extra=text), parts=parts)
        report = {**self.report, "parts": part_sizes(frame.told, self.agent.primary)}
        return replace(frame, report=report, stored_report=stored(report))


def with_prompt(setup: TurnSetup, parts: Sequence[PromptPart]) -> TurnSetup:
    system, tail, worker = split(parts)
    of_programs, _, _ = split(for_programs(parts))
    return replace(setup, system=system, system_tail=tail, worker_line=worker, system_of_programs=of_programs)
