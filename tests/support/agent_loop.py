"""An agent loop with real tools and the offline model, which writes into a journal in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from openclaw_workers.agent.loop import AgentLoop
from openclaw_workers.agent.model.asker import Asker, CallNote
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.engine.llm.admission import Admission
from openclaw_workers.engine.llm.failover import ModelChain
from openclaw_workers.engine.llm.keyring import Keyring, Option
from openclaw_workers.providers.base import Provider
from openclaw_workers.providers.registry import Providers
from openclaw_workers.tools.registry import builtin_tools, specs


@dataclass
class MemoryJournal:
    """A Journal that keeps everything, and steers or fails on request."""

    entries: list[TranscriptEntry] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    streamed: str = ""
    shown: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    noted: list[CallNote] = field(default_factory=list)
    steer: list[str] = field(default_factory=list)
    fail_at: dict[int, Exception] = field(default_factory=dict)
    """By the number of the record: recorded all the same, then raised, as the engine's journal does."""

    def record(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        worked: float = 0.0,
    ) -> list[UserEntry]:
        self.entries += entries
        self.started.append(starting)
        if error := self.fail_at.get(len(self.started)):
            raise error
        steered = [user(text) for text in self.steer] if may_steer else []
        if may_steer:
            self.steer = []
        self.entries += steered
        return steered

    def text(self, delta: str) -> None:
        self.streamed += delta

    def show(self, kind: str, data: Mapping[str, Any]) -> None:
        self.shown.append((kind, data))

    def note(self, call: CallNote) -> None:
        self.noted.append(call)

    def noted_input(self, *, recorded: bool) -> int:
        """Tokens of the calls whose answer is recorded, or of the others."""
        return sum(call.usage.input for call in self.noted if call.recorded is recorded)

    def allow(self, seconds: float) -> None:
        assert seconds > 0

    def results(self) -> list[ToolResultEntry]:
        return [entry for entry in self.entries if isinstance(entry, ToolResultEntry)]


def user(text: str) -> UserEntry:
    return UserEntry(content=[TextBlock(text=text)])


def program(*steps: dict[str, Any]) -> UserEntry:
    return user(json.dumps({"steps": steps}))


def calls(*tools: tuple[str, dict[str, Any]], text: str = "") -> dict[str, Any]:
    return {"text": text, "calls": [{"tool": name, "input": given} for name, given in tools]}


def calling(*tools: tuple[str, dict[str, Any]]) -> AssistantEntry:
    """The assistant message an earlier owner recorded before it died."""
    return AssistantEntry(
        content=[ToolCallBlock(id=f"call-{n}", name=name, arguments=given) for n, (name, given) in enumerate(tools)],
        stop_reason="toolUse",
    )


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def cancel() -> Cancel:
    return Cancel()


def chain_of(provider: Provider, cancel: Cancel) -> ModelChain:
    """One model without keys: it asks neither limits nor the fleet."""
    nobody = cast("Any", None)
    guard = Admission(nobody, RunId("run-1"), [], lambda _: [], nobody)
    return ModelChain([Option(provider, "script", [[None]])], Keyring(nobody), guard, cancel)


MakeLoop = Callable[..., AgentLoop]


@pytest.fixture
def make_loop(tmp_path: Path, journal: MemoryJournal, cancel: Cancel) -> MakeLoop:
    def make(*history: TranscriptEntry, provider: Provider | None = None, **changed: Any) -> AgentLoop:
        setup = TurnSetup(
            agent_id="main",
            session_key="agent:main:main",
            run_id="run-1",
            window=16_000,
            system="You are a test.",
            thinking="off",
            tools={tool.name: tool for tool in builtin_tools()},
            specs=specs(),
            workspace=tmp_path,
            started_call="",
            max_model_calls=20,
            tool_timeout_seconds=30,
        )
        asker = Asker(RunId("run-1"), 1, chain_of(provider or Providers().get("offline"), cancel), journal, cancel)
        return AgentLoop(replace(setup, **changed), history, journal, asker)

    return make
