"""What slash commands that act at once can use."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.control import Control
from openclaw_workers.errors import BadInput
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions


@dataclass(frozen=True, slots=True)
class CommandContext:
    session: SessionKey
    reader: Reader
    sessions: Sessions
    settings: Settings
    control: Control
    channel: str = ""
    """Where the command was given."""
    delivery: str = ""
    """The same each time its channel delivers it; "" if it does so once."""

    def row(self) -> SessionEntry | None:
        return self.reader.session(self.session)

    def patch(self, what: str, fields: dict[str, str]) -> None:
        """Set fields of the session's row; an empty value clears one.

        Raises:
            BadInput: there is no session yet, and a command does not begin one.
        """
        if not self.sessions.patch(self.session, fields, delivery=self.delivery):
            raise BadInput("this session has not begun yet", hint=f"send a message first, then set its {what}")
