"""Reports the end of background commands to their sessions.

The holder of a command has no access to Redis. It leaves a file in a directory that all workers of this place look at;
whoever sees it first raises the event. A command that ends while no worker runs is reported by the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.shorten import shorten
from openclaw_workers.engine.intake.system_events import SystemEvents
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.redaction import mask_after_cut, mask_known
from openclaw_workers.tools.shell.background_commands import CommandDirectory, HeldCommand
from openclaw_workers.tools.shell.exit_text import ending_text
from openclaw_workers.tools.shell.holder.spec import Exit

log = structlog.get_logger(__name__)

PERIOD_SECONDS = 0.5
PRUNE_SECONDS = 60.0
SNIPPET_BYTES = 1_000
COMMAND_CHARS = 200


class FinishedCommands(threading.Thread):
    def __init__(self, commands: CommandDirectory, events: SystemEvents, prune: Callable[[], object]) -> None:
        """`prune` deletes what else is kept too long, once a minute."""
        super().__init__(name="ocw-commands", daemon=True)
        self._prune = prune
        self._commands = commands
        self._events = events
        self._stopped = threading.Event()
        self._prune_at = time.monotonic() + PRUNE_SECONDS

    def run(self) -> None:
        while not self._stopped.wait(PERIOD_SECONDS):
            try:
                self.report()
                if time.monotonic() >= self._prune_at:
                    self._prune_at = time.monotonic() + PRUNE_SECONDS
                    self._commands.prune()
                    self._prune()
            except StoreUnavailable as error:
                log.debug("command.report_postponed", error=error.message)
            except Exception:
                log.exception("command.report_failed")

    def stop(self) -> None:
        self._stopped.set()
        if self.is_alive():
            self.join(timeout=2)

    def report(self) -> None:
        """Report all commands that have ended since the last look.

        Raises:
            StoreUnavailable: those that were not reported are the next time.
        """
        for command_id in self._commands.finished():
            command = self._commands.get(command_id)
            ended = command.exit() if command else None
            if command is not None and ended is not None and not _is_silent_success(ended):
                self._tell(command, ended)
            # After the event, whose key makes a repeat harmless.
            self._commands.mark_reported(command_id)

    def _tell(self, command: HeldCommand, ended: Exit) -> None:
        info = command.info
        reported = self._events.add(
            SessionKey(info.session_key),
            source="exec",
            text=_text(command, ended),
            key=f"{info.id}-{info.started_at}",
            wake=True,
            authority=_authority(info.authority),
        )
        log.info("command.ended", id=info.id, session=info.session_key, ending=ending_text(ended), reported=reported)


def _is_silent_success(ended: Exit) -> bool:
    return ended["reason"] == "exited" and ended["code"] == 0 and ended["bytes"] == 0


def _authority(stored: str) -> Authority:
    with suppress(ValueError):
        return Authority(stored)
    return Authority.ANYONE


def _text(command: HeldCommand, ended: Exit) -> str:
    tail = command.output(max(0, ended["bytes"] - SNIPPET_BYTES))
    output = tail.read()[-SNIPPET_BYTES:].decode(errors="replace")
    output = (mask_after_cut(output) if ended["bytes"] > SNIPPET_BYTES else mask_known(output)).strip()
    return texts.COMMAND_ENDED.format(
        id=command.info.id,
        ending=ending_text(ended),
        command=shorten(mask_known(" ".join(command.info.command.split())), COMMAND_CHARS),
        output=output or texts.COMMAND_WITHOUT_OUTPUT,
    )
