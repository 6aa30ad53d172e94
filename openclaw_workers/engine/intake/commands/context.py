"""What slash commands that act at once can use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import Authority, InboundMessage, QueueMode, Route
from openclaw_workers.domain.session_key import chat_type
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.routing.row_fields import delivery_fields
from openclaw_workers.errors import BadInput
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.tree import Tree


@dataclass(frozen=True, slots=True)
class Caller:
    """Who gave a command, and where."""

    route: Route
    authority: Authority
    command_authority: Authority
    """With which authority they give commands."""
    name: str = ""
    id: str = ""
    """Their id on the channel; empty where the channel has none."""


@dataclass(frozen=True, slots=True)
class CommandServices:
    """What commands use and messages do not."""

    sessions: Sessions
    tree: Tree
    answers: Answers


@dataclass(frozen=True, slots=True)
class CommandContext:
    session: SessionKey
    caller: Caller
    reader: Reader
    sessions: Sessions
    tree: Tree
    settings: Settings
    control: Control
    answers: Answers
    post: Callable[[InboundMessage, QueueMode], RunId | None]
    """Sends a message into another session; raises BadInput if that session does not take it."""
    skill_commands: Callable[[], Sequence[SkillCommand]] = tuple
    """What the skills of the session's agent add."""
    delivery: str = ""
    """The same each time its channel delivers it; "" if it does so once."""

    @property
    def channel(self) -> str:
        """Where the command was given."""
        return self.caller.route.channel

    def row(self) -> SessionEntry | None:
        return self.reader.session(self.session)

    def begin(self) -> None:
        """Begin the session if it has not begun, for a command that says how its chat is treated from the start."""
        new = {"sessionKind": "main", "chatType": chat_type(self.session), **delivery_fields(self.caller.route)}
        self.sessions.begin(self.session, new)

    def patch(self, what: str, fields: dict[str, str]) -> None:
        """Set fields of the session's row; an empty value clears one.

        Raises:
            BadInput: there is no session yet, and a command does not begin one.
        """
        if not self.sessions.patch(self.session, fields, delivery=self.delivery):
            raise BadInput("this session does not exist yet", hint=f"send a message first, then set its {what}")
