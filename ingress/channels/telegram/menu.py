"""The bot's command menu, from the list of slash commands."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog
from telegram.error import TelegramError

from openclaw_workers.errors import StoreUnavailable

log = structlog.get_logger(__name__)

MOST_COMMANDS = 100
MOST_CHARS = 256
LOOK_SECONDS = 30.0
"""How often the menu is compared with the commands: those of skills come and go."""

Commands = Sequence[tuple[str, str]]


def menu(commands: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Name and description of each command that Telegram can show: it takes small letters, digits and _ only."""
    named = [(name, words[:MOST_CHARS]) for name, words in commands if re.fullmatch(r"[a-z0-9_]{1,32}", name)]
    return [(name, words) for name, words in named if words.strip()][:MOST_COMMANDS]


class CommandMenu:
    """Keeps the menu of one bot as the commands are."""

    def __init__(
        self,
        commands: Callable[[], Awaitable[Commands]],
        set_commands: Callable[[Commands], Awaitable[None]],
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._commands = commands
        self._set_commands = set_commands
        self._look_seconds = look_seconds
        self._shown: Commands | None = None

    async def show(self) -> None:
        """Set the menu if it has changed.

        Raises:
            TelegramError: it is not set.
            StoreUnavailable: nobody can tell which commands there are.
        """
        wanted = menu(await self._commands())
        if wanted != self._shown:
            await self._set_commands(wanted)
            self._shown = wanted

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self.show()
            except (TelegramError, TimeoutError, StoreUnavailable) as error:
                log.info("telegram.menu_not_set", error=str(error))
