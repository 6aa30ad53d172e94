"""How tools reach the sandbox of their session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openclaw_workers.sandbox.launch import Launch


class SandboxPort(Protocol):
    def launch(self, argv: Sequence[str], *, workdir: Sequence[str], env: Mapping[str, str]) -> Launch:
        """How a command is started in the sandbox, in a directory below its workspace.

        Raises:
            ToolError: there is no working sandbox here. The command must not run at all then.
        """
