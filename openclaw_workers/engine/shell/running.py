"""Says which commands of an agent run in the background, for one state directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw_workers.domain.shorten import shorten
from openclaw_workers.engine.place_service import OnlyAnswers, Operation, Progress
from openclaw_workers.engine.shell.agent_commands import OPERATION
from openclaw_workers.redaction import mask_known
from openclaw_workers.tools.shell.background_commands import CommandDirectory

COMMAND_CHARS = 60


class RunningCommands(OnlyAnswers):
    """Implements engine.place_service.Part for the commands of one state directory."""

    def __init__(self, commands: CommandDirectory) -> None:
        self._commands = commands

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {OPERATION: self._answer}

    def _answer(self, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
        running = [
            each.info
            for each in self._commands.all()
            if each.info.agent_id == asked["agent"] and each.state() == "running"
        ]
        return {"commands": [_shown(info.command, info.pid, info.host, info.session_key) for info in running]}


def _shown(command: str, pid: int, host: str, session: str) -> str:
    return f"`{shorten(mask_known(' '.join(command.split())), COMMAND_CHARS)}` of {session} (process {pid} on {host})"
