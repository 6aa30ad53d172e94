"""What the engine gives to a tool's call: its files, its limits, and the ports through which it reaches the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError

if TYPE_CHECKING:
    from openclaw_workers.tools.cron.port import SchedulePort
    from openclaw_workers.tools.memory.port import MemoryPort
    from openclaw_workers.tools.messaging.port import MessagePort, QuestionPort
    from openclaw_workers.tools.sessions.port import SessionPort
    from openclaw_workers.tools.shell.approval_port import ApprovalPort
    from openclaw_workers.tools.shell.background_commands import CommandDirectory
    from openclaw_workers.tools.shell.sandbox_port import SandboxPort
    from openclaw_workers.tools.web.port import WebPort


PortT = TypeVar("PortT")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may touch."""

    workspace: Path
    call_id: str
    agent_id: str
    session_key: str
    cancel: Cancel
    timeout_seconds: float
    """The time limit of this call. If the turn ends earlier, `cancel` is set."""
    progress: Callable[[str], None]
    """Show a line of output while the call runs. It never blocks and may drop lines."""
    exec_seconds: float = 120
    """The time limit of a command whose call sets none."""
    yield_seconds: float = 10
    """After this time a command goes on in the background, if its call names no other."""
    commands: CommandDirectory | None = None
    """Commands in the background."""
    may_background: bool = False
    """Whether commands may go on in the background: the turn has the tool that reaches them."""
    sandbox: SandboxPort | None = None
    """Where commands run; None: on the host."""
    shown_workspace: str = ""
    """What a sandboxed session calls its workspace."""
    sessions: SessionPort | None = None
    """Other sessions, for the session tools."""
    memory: MemoryPort | None = None
    """The agent's memory, for the memory tools."""
    web: WebPort | None = None
    """The web, for web_fetch and web_search."""
    schedules: SchedulePort | None = None
    """Scheduled jobs, for the cron tool."""
    messages: MessagePort | None = None
    """Messages to chats, for the message tool."""
    questions: QuestionPort | None = None
    """Questions to people, for ask_user."""
    approvals: ApprovalPort | None = None
    """Which commands may run on the host; None allows all."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further variables for commands: of this run, from its skills, and the secrets that name the tool."""
    skill_paths: tuple[str, ...] = ()
    """Folders and files of skills outside the workspace, which may be read and not written."""
    skill_files: frozenset[str] = frozenset()
    """Files of skills, whose text is instructions and not evidence."""


def require(port: PortT | None, missing: str) -> PortT:
    """A port of the context.

    Raises:
        ToolError: there is none, because the call runs outside a worker. `missing` says so to the model.
    """
    if port is None:
        raise ToolError(missing)
    return port
