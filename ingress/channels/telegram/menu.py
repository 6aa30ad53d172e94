"""The bot's command menu, from the list of slash commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_COMMANDS = 100
MOST_CHARS = 256


def menu(commands: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Name and description of each command that Telegram can show: it takes small letters, digits and _ only."""
    named = [(name, words[:MOST_CHARS]) for name, words in commands if re.fullmatch(r"[a-z0-9_]{1,32}", name)]
    return [(name, words) for name, words in named if words.strip()][:MOST_COMMANDS]
