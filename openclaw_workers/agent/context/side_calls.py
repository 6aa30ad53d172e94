"""Side calls: model calls outside the conversation, for summaries and memory notes. They are shown to nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openclaw_workers.agent.context import memory_flush
from openclaw_workers.agent.context.history import result_for
from openclaw_workers.agent.model.asker import Asker
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.context import MemoryFlushSettings
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
)
from openclaw_workers.providers.base import Answer, ModelRequest
from openclaw_workers.tools.aliases import canonical

FLUSH_CALLS = 8
"""How many model calls one memory flush may make."""


class SideCallContext(Protocol):
    """What side calls need to know about the turn."""

    @property
    def system(self) -> str: ...
    @property
    def specs(self) -> Sequence[ToolSpec]: ...
    @property
    def workspace(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class SideCalls:
    about: SideCallContext
    asker: Asker
    execute: Callable[[ToolCallBlock], ToolResultEntry]
    """Run a tool call without showing it."""

    def summarise(self, messages: list[TranscriptEntry], instructions: str) -> str:
        """Return the summary; nothing if the model declined."""
        answer = self._ask(messages, instructions, ())
        return "" if answer.refused else _text(answer)

    def flush(self, messages: Sequence[TranscriptEntry], settings: MemoryFlushSettings) -> Iterator[TranscriptEntry]:
        """Let the agent save notes; yield its calls and their results as they happen."""
        system = f"{self.about.system}\n\n{memory_flush.system_addition(settings)}"
        specs = [spec for spec in self.about.specs if spec.name in memory_flush.TOOLS]
        talk = list(messages)
        for _ in range(FLUSH_CALLS):
            answer = self._ask(talk, system, specs)
            entry = AssistantEntry(content=answer.content, usage=answer.usage)
            if not entry.tool_calls:
                return
            added: list[TranscriptEntry] = [entry, *map(self._run, entry.tool_calls)]
            talk += added
            yield from added

    def _run(self, call: ToolCallBlock) -> ToolResultEntry:
        """Reject tools that were not offered: a model may call them nevertheless."""
        if canonical(call.name) in memory_flush.TOOLS:
            return self.execute(call)
        usable = ", ".join(sorted(memory_flush.TOOLS))
        return result_for(call, texts.MEMORY_FLUSH_OTHER_TOOL.format(tools=usable), is_error=True)

    def _ask(self, messages: list[TranscriptEntry], system: str, specs: Sequence[ToolSpec]) -> Answer:
        def request(candidate: Candidate, failed: int) -> ModelRequest:
            return ModelRequest(
                model=candidate.model,
                system=system,
                messages=messages,
                tools=list(specs),
                failed_calls=failed,
                endpoint=candidate.endpoint,
                workspace=self.about.workspace,
            )

        return self.asker.ask(request, is_side_call=True)[1]


def _text(answer: Answer) -> str:
    return "".join(block.text for block in answer.content if isinstance(block, TextBlock)).strip()
