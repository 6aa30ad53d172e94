"""What the session tools ask of the engine. Tools know no store and no queue; a turn is given one of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import InputT, Tool, ToolContext
from openclaw_workers.tools.sessions.inputs import HistoryInput, ListInput, SendInput, StatusInput, SubagentsInput
from openclaw_workers.tools.sessions.spawn_input import SpawnInput


@dataclass(frozen=True, slots=True)
class SpawnCall:
    call_id: str
    args: SpawnInput


class SessionPort(Protocol):
    """Sessions as one running turn may see and use them. Answers are JSON for the model to read."""

    def spawn(self, calls: Sequence[SpawnCall]) -> list[str]:
        """Spawn the children that one assistant message asks for; one answer each."""

    def list_sessions(self, args: ListInput) -> str:
        """The sessions that this one may see."""

    def history(self, args: HistoryInput) -> str:
        """What was said in a session, newest last, bounded in size."""

    def status(self, args: StatusInput) -> str:
        """How a session stands; may set its model first."""

    def send(self, call_id: str, args: SendInput) -> str:
        """Say something in another session. The same call id says it once.

        Raises:
            TurnParked: the answer is not there yet. The call is to be made again when it is, or when its time is over.
        """

    def subagents(self, call_id: str, args: SubagentsInput) -> str:
        """Look after the children of this session. The same call id says a thing once."""

    def children_at_work(self) -> int:
        """How many children have not reported yet."""


class SessionTool(Tool[InputT]):
    """Its answers are JSON objects with a status."""

    def is_refusal(self, answer: str) -> bool:
        return json.loads(answer)["status"] in ("error", "forbidden")


def port_of(ctx: ToolContext) -> SessionPort:
    """The sessions a call may use.

    Raises:
        ToolError: there are none, as outside of a worker.
    """
    if ctx.sessions is None:
        raise ToolError("there are no other sessions here")
    return ctx.sessions
