"""What a plugin's function may ask for: a parameter of this type is filled in, and the model does not see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import FileBlock, ImageBlock
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.media import store_file


@dataclass(frozen=True, slots=True)
class CallContext:
    """The call that a tool serves."""

    workspace: Path
    """The directory of the agent's files."""
    agent_id: str
    session_key: str
    call_id: str
    """The same if the call is made again after a crash, so that it can serve as an idempotency key."""
    timeout_seconds: float
    """How long the call may take."""
    progress: Callable[[str], None]
    """Show a line to those who watch the turn. It never blocks and may drop lines."""
    cancel: Cancel
    environment: Mapping[str, str]
    """The secrets of the configuration that name this tool, by their names, and variables of the run's skills."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the turn was stopped. The answer is no longer wanted then."""
        return self.cancel.reason is not None

    def file(self, name: str, data: bytes) -> ImageBlock | FileBlock:
        """Store an image or another file in the workspace, to be returned by the tool.

        Raises:
            ToolError: the workspace cannot take the file.
        """
        return store_file(self.workspace, name, data)


def call_context(ctx: ToolContext, timeout_seconds: float) -> CallContext:
    return CallContext(
        workspace=ctx.workspace,
        agent_id=ctx.agent_id,
        session_key=ctx.session_key,
        call_id=ctx.call_id,
        timeout_seconds=timeout_seconds,
        progress=ctx.progress,
        cancel=ctx.cancel,
        environment=ctx.environment,
    )
