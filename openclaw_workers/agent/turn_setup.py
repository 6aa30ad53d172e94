"""What one turn of the agent loop is given: where to write, and everything it needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Protocol

from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.model.asker import Viewers
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.config.tools import LoopDetectionSettings
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.sessions.port import SessionPort


class Journal(Viewers, Protocol):
    """Where a turn is written down as it happens."""

    def record(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        worked: float = 0.0,
    ) -> list[UserEntry]:
        """Append entries; returns messages that were steered in. `worked` is how many seconds tools took.

        Raises:
            TurnEnded: the turn must stop here. The entries are recorded all the same.
            LeaseLost: another worker owns the session; nothing was recorded.
        """

    def allow(self, seconds: float) -> None:
        """Say how long the step that begins now may take."""


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """Everything one turn needs to know."""

    agent_id: str
    session_key: str
    run_id: str
    window: int
    """Tokens that the model asked first can see."""
    system: str
    thinking: str
    tools: Mapping[str, Tool[Any]]
    specs: Sequence[ToolSpec]
    workspace: Path
    started_call: str
    max_model_calls: int
    tool_timeout_seconds: float
    context_tokens: int | None = None
    system_tail: str = ""
    """What follows the system prompt and differs between sessions."""
    worker_line: str = ""
    """What differs between workers; it follows the newest message."""
    system_of_programs: str = ""
    """What those are told instead that call no tools of ours."""
    system_extra: str = ""
    """What the message adds to either."""
    view: RequestView | None = None
    """How the conversation is kept within the window; None where the model cannot summarise."""
    view_of: Callable[[Candidate], RequestView | None] = lambda candidate: None
    """The same for any model of the turn."""
    zone: tzinfo = UTC
    """The user's time zone."""
    loop_detection: LoopDetectionSettings = field(default_factory=LoopDetectionSettings)
    exec_seconds: float = 120
    """How long a command may take whose call names no time."""
    sessions: SessionPort | None = None
    """Other sessions, as this turn may see and use them."""
    steering_waits: bool = False
    """Whether messages may wait that an earlier owner of the turn did not get to see."""
    shows_results: bool = False
    """Whether viewers see what tools return, and not only that they did."""

    @property
    def told(self) -> str:
        """All that a model is told beside the conversation."""
        return self.system + self.system_tail + self.worker_line
