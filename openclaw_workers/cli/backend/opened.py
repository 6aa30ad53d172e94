"""What the parts of the local backend are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from openclaw_workers.queries.installation import Installation

if TYPE_CHECKING:
    from openclaw_workers.client.blocking import BlockingReader
    from openclaw_workers.config.host import Host
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.engine.archives.writer import ArchiveWriter
    from openclaw_workers.engine.control import Control
    from openclaw_workers.engine.intake.accept import Intake
    from openclaw_workers.engine.queue_waker import QueueWaker
    from openclaw_workers.store.client import Client
    from openclaw_workers.tasks.waker import CeleryWaker


class Opened(Installation, Protocol):
    """An installation with the entry points of its engine; the context of the commands is such."""

    @property
    def intake(self) -> Intake: ...

    @property
    def control(self) -> Control: ...

    @property
    def conversations(self) -> BlockingReader: ...

    @property
    def waker(self) -> QueueWaker: ...

    @property
    def celery_waker(self) -> CeleryWaker: ...

    @property
    def archives(self) -> ArchiveWriter: ...

    @property
    def host(self) -> Host: ...

    @property
    def redis(self) -> Client: ...

    @property
    def main_key(self) -> str: ...

    def session_key(self, wanted: str = "", *, agent: str = "", thread: str = "") -> SessionKey: ...


class LocalPart:
    """A part of the local backend."""

    def __init__(self, cli: Opened) -> None:
        self._cli = cli

    def close(self) -> None:
        """The connections belong to the command line."""
