"""The one interface of all sandboxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from openclaw_workers.sandbox.box import Box
from openclaw_workers.sandbox.launch import Launch

Run = Callable[[Launch], tuple[int, str]]
"""Runs a short command; returns its exit code and its output."""


@dataclass(frozen=True, slots=True)
class Availability:
    is_available: bool
    reason: str = ""
    """Why not, in one sentence."""
    install: str = ""
    """The command that installs what is missing."""

    @property
    def refusal(self) -> str:
        hint = f" Install it with: {self.install}" if self.install else ""
        return f"{self.reason}.{hint}"


class Backend(Protocol):
    name: ClassVar[str]

    def availability(self) -> Availability:
        """Whether a command can really be started here; asked by starting one, and remembered."""

    def launch(self, box: Box, argv: Sequence[str], *, workdir: Sequence[str], env: Mapping[str, str]) -> Launch:
        """How a command is started in a sandbox, in a directory below its workspace.

        Raises:
            OSError: the sandbox's own files cannot be made.
        """

    def measures(self, box: Box) -> dict[str, str]:
        """What holds each limit here, for people."""
