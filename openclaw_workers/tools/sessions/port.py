"""The interface between the session tools and the engine. Tools import no store and no queue; each turn gets a port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openclaw_workers.tools.sessions.inputs import (
    HistoryInput,
    ListInput,
    SendInput,
    SessionsSearchInput,
    StatusInput,
    SubagentsInput,
)
from openclaw_workers.tools.sessions.spawn_input import SpawnInput


@dataclass(frozen=True, slots=True)
class SpawnCall:
    call_id: str
    args: SpawnInput


class SessionPort(Protocol):
    """What one running turn may do with other sessions. All results are JSON for the model."""

    def spawn(self, calls: Sequence[SpawnCall]) -> list[str]:
        """Spawn the children that one assistant message asks for; return one result per call."""

    def list_sessions(self, args: ListInput) -> str:
        """List the sessions that this one may see."""

    def history(self, args: HistoryInput) -> str:
        """The messages of a session, newest last, bounded in size."""

    def search(self, args: SessionsSearchInput) -> str:
        """Search the transcripts that this session may see."""

    def status(self, args: StatusInput) -> str:
        """The status of a session; optionally set its model first."""

    def send(self, call_id: str, args: SendInput) -> str:
        """Send a message to another session. Repeating a call id sends nothing twice.

        Raises:
            TurnParked: the answer is not there yet. Repeat the call when it arrives or the wait times out.
        """

    def subagents(self, call_id: str, args: SubagentsInput) -> str:
        """List, read, message, steer or stop the children of this session. Repeating a call id sends nothing twice."""

    def agents(self) -> str:
        """The agents that this one may spawn."""

    def children_at_work(self) -> int:
        """How many children have not reported yet."""
