"""Which slash command a message is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openclaw_workers.domain.suggest import nearest
from openclaw_workers.engine.intake.commands.command import Command
from openclaw_workers.engine.intake.commands.registry import COMMANDS, available_commands, find_command
from openclaw_workers.errors import BadInput

RESET_TRIGGERS = ("/new", "/reset")

STOP_WORDS = frozenset(
    {
        *("stop", "abort", "halt", "interrupt", "esc", "wait", "exit", "please stop", "stop please", "stop it"),
        *("стоп", "остановись", "остановить", "хватит", "stopp", "arrête", "arrete", "detente", "para", "ferma"),
        *("停", "停止", "停下", "停一下", "別做了", "别做了", "止めて", "ストップ", "やめて", "중지", "멈춰"),
    }
)
"""Whole messages that mean `/stop`."""

_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)(?:@([a-z0-9_]+))?(?:[ \t]*:[ \t]*|[ \t]+|\Z)(.*)\Z", re.I | re.S)
_ALONE = re.compile(r"/([a-z][a-z0-9_-]*)(?:@[a-z0-9_]+)?:?\Z", re.I)


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    command: Command
    argument: str
    is_stop_word: bool = False
    """It was written as an ordinary word, and is an ordinary message if its sender may not stop anything."""

    @property
    def text(self) -> str:
        """The command under its own name, however it was written."""
        return f"/{self.command.name} {self.argument}".rstrip()


def parse_command(
    text: str, *, reset_triggers: Sequence[str] = RESET_TRIGGERS, bot_name: str = ""
) -> ParsedCommand | None:
    """The command a message is, or None when it is an ordinary message.

    A leading slash with an unknown word is an ordinary message: people do write paths; see `check_known` for one that
    stands alone. `reset_triggers` are the words that begin a new session; `/new` and `/reset` do so only while they are
    among them. `/command@name` is one only if our bot is called so.
    """
    text = text.strip()
    if _words(text) in STOP_WORDS:
        return ParsedCommand(COMMANDS["stop"], "", is_stop_word=True)
    word, _, rest = text.partition(" ")
    triggers = [trigger.lower() for trigger in reset_triggers]
    if word.lower() in triggers:
        return ParsedCommand(COMMANDS["reset" if word.lower() == "/reset" else "new"], rest.strip())
    match = _COMMAND.match(text)
    if match is None or (match[2] and match[2].lower() != bot_name.lower()):
        return None
    command = find_command(match[1])
    if command is None or command not in available_commands(reset_triggers):
        return None
    return ParsedCommand(command, match[3].strip())


def slash_word(text: str, bot_name: str = "") -> tuple[str, str] | None:
    """The word after a leading slash, in lower case, and what follows it; None if a message does not begin so."""
    match = _COMMAND.match(text.strip())
    if match is None or (match[2] and match[2].lower() != bot_name.lower()):
        return None
    return match[1].lower(), match[3].strip()


def check_known(
    text: str, *, reset_triggers: Sequence[str] = RESET_TRIGGERS, more: Callable[[], Sequence[str]] = tuple
) -> None:
    """Refuse a message that is nothing but an unknown `/word`: it was meant as a command. `more`: further names.

    Raises:
        BadInput: naming the nearest command.
    """
    match = _ALONE.match(text.strip())
    if match is None:
        return
    names = {name: command for command in available_commands(reset_triggers) for name in command.names}
    near = nearest(match[1].lower(), [*names, *more()])
    hint = f"did you mean /{near}?" if near else "/help lists the commands."
    raise BadInput(f"/{match[1]} is not a command", hint=f"{hint} With more words after it, it is sent to the agent")


def is_for_another_bot(text: str, bot_name: str) -> bool:
    """Whether a message is a command that names another bot than ours."""
    match = _COMMAND.match(text.strip())
    return match is not None and bool(match[2]) and match[2].lower() != bot_name.lower()


def _words(text: str) -> str:
    """A short message without case, spaces and marks; empty if it is too long to be a stop word."""
    return " ".join(text.casefold().strip(" \t\n.!?…。！？¡").split()) if len(text) <= 40 else ""
