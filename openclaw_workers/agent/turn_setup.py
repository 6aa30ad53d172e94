"""The input of one turn of the agent loop: its journal and everything it needs to know."""

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
from openclaw_workers.hooks import Hooks
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.cron.port import SchedulePort
from openclaw_workers.tools.memory.port import MemoryPort
from openclaw_workers.tools.messaging.port import MessagePort, QuestionPort
from openclaw_workers.tools.sessions.port import SessionPort
from openclaw_workers.tools.shell.approval_port import ApprovalPort
from openclaw_workers.tools.shell.background_commands import CommandDirectory
from openclaw_workers.tools.shell.sandbox_port import SandboxPort
from openclaw_workers.tools.web.port import WebPort


class Journal(Viewers, Protocol):
    """Records a turn while it runs."""

    def record(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        starting: str = "",
        may_steer: bool = False,
        worked: float = 0.0,
    ) -> list[UserEntry]:
        """Append entries; return messages that were steered in. `worked`: seconds spent in tools.

        Raises:
            TurnEnded: the turn must stop now. The entries are recorded nevertheless.
            LeaseLost: another worker owns the session; nothing was recorded.
        """

    def allow(self, seconds: float) -> None:
        """Set how long the step that begins now may take."""


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """What the tools of one turn may reach besides files and commands."""

    sessions: SessionPort | None = None
    """Other sessions, as this turn may see and use them."""
    memory: MemoryPort | None = None
    """The agent's memory, as this turn may see and use it."""
    schedules: SchedulePort | None = None
    """Scheduled jobs, for the cron tool."""
    commands: CommandDirectory | None = None
    """Commands in the background, for exec and process."""
    messages: MessagePort | None = None
    """Messages to chats, for the message tool."""
    questions: QuestionPort | None = None
    """Questions to people, for ask_user."""
    approvals: CallApprovals | None = None
    """Which commands may run on the host; None allows all."""
    hooks: Hooks | None = None
    """Hooks of plugins around tool calls and compaction."""
    secrets: Callable[[Tool[Any]], Mapping[str, str]] = lambda tool: {}
    """The secrets that a tool is handed, by name."""


class CallApprovals(Protocol):
    """Approvals of one turn."""

    def for_call(self, call_id: str) -> ApprovalPort:
        """The approvals of one of its tool calls."""

    def was_held(self, call_id: str) -> bool:
        """Whether a call that was started only waited for an approval, and has not run."""


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """Everything one turn needs to know."""

    agent_id: str
    session_key: str
    run_id: str
    window: int
    """The context window of the first model, in tokens."""
    system: str
    thinking: str
    tools: Mapping[str, Tool[Any]]
    specs: Sequence[ToolSpec]
    workspace: Path
    started_call: str
    max_model_calls: int
    tool_timeout_seconds: float
    denied_to: Callable[[str], frozenset[str]] = lambda model: frozenset()
    """Tools of this turn that one of its models, as provider/model, does not have."""
    context_tokens: int | None = None
    system_tail: str = ""
    """The part after the system prompt that differs between sessions."""
    worker_line: str = ""
    """The part that differs between workers; it follows the newest message."""
    system_of_programs: str = ""
    """The system prompt for programs, which cannot call our tools."""
    system_extra: str = ""
    """What the message adds to either system prompt."""
    view: RequestView | None = None
    """How the conversation is kept inside the window; None if the model cannot summarise."""
    view_of: Callable[[Candidate], RequestView | None] = lambda candidate: None
    """The same for any model of the turn."""
    zone: tzinfo = UTC
    """The user's time zone."""
    loop_detection: LoopDetectionSettings = field(default_factory=LoopDetectionSettings)
    exec_seconds: float = 120
    """The time limit of a command whose call sets none."""
    yield_seconds: float = 10
    """After this time a command goes on in the background, if its call names no other."""
    commands: CommandDirectory | None = None
    """Commands in the background, for exec and process."""
    sandbox: SandboxPort | None = None
    """Where commands run; None: on the host."""
    shown_workspace: str = ""
    """What a sandboxed session calls its workspace."""
    sessions: SessionPort | None = None
    """Other sessions, as this turn may see and use them."""
    memory: MemoryPort | None = None
    """The agent's memory, as this turn may see and use it."""
    web: WebPort | None = None
    """The web, as the configuration lets agents use it."""
    schedules: SchedulePort | None = None
    """Scheduled jobs, for the cron tool."""
    messages: MessagePort | None = None
    """Messages to chats, for the message tool."""
    questions: QuestionPort | None = None
    """Questions to people, for ask_user."""
    approvals: CallApprovals | None = None
    """Which commands may run on the host; None allows all."""
    hooks: Hooks | None = None
    """Hooks of plugins around tool calls and compaction."""
    secrets: Callable[[Tool[Any]], Mapping[str, str]] = lambda tool: {}
    """The secrets that a tool is handed, by name."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for commands of this run, from its skills."""
    skill_paths: tuple[str, ...] = ()
    """Folders and files of skills outside the workspace, which the read tool may open."""
    skill_files: frozenset[str] = frozenset()
    """Files of skills, whose text is instructions and not evidence."""
    steering_waits: bool = False
    """Whether steered messages may be waiting that an earlier owner of the turn did not see."""
    shows_results: bool = False
    """Whether viewers see the results of tools, or only that they ended."""

    @property
    def whole_system(self) -> str:
        """All text that a request contains besides the conversation."""
        return self.system + self.system_tail + self.worker_line
