"""`/weather Berlin`: a message that asks for a skill by its slash command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.skill_command import SkillCommand, command_name
from openclaw_workers.domain.suggest import nearest
from openclaw_workers.engine.deadline import within
from openclaw_workers.engine.intake.commands.parse import check_known, slash_word
from openclaw_workers.errors import BadInput
from openclaw_workers.store.skill_commands import SkillCommands

COMMAND = "skillCommand"
INPUT = "skillInput"
"""Metadata of a message whose command calls a tool: the command's name, and what was written after it."""


@dataclass(frozen=True, slots=True)
class AskedSkill:
    command: SkillCommand
    argument: str

    @property
    def metadata(self) -> dict[str, str]:
        """What the worker needs to call the command's tool; nothing if it has none."""
        return {COMMAND: self.command.name, INPUT: self.argument} if self.command.tool else {}

    def text(self, shown_as: str) -> str:
        """What the model reads. `shown_as`: the whole message, where the channel adds who wrote it."""
        asked = texts.USE_SKILL.format(name=self.command.skill)
        more = shown_as or self.argument
        return f"{asked}\n\n{texts.SKILL_INPUT}\n{more}" if more else asked


class SkillFinder:
    """Finds the skill that a message asks for, by the names that workers have published."""

    def __init__(self, store: SkillCommands, *, reset_triggers: Sequence[str], timeout_seconds: float) -> None:
        self._store = store
        self._triggers = reset_triggers
        self._timeout_seconds = timeout_seconds

    def known(self, session: SessionKey) -> Callable[[], Sequence[SkillCommand]]:
        """Asks Redis when it is first called."""
        agent = agent_of(session)
        return cache(lambda: within(self._timeout_seconds, lambda: self._store.of_agent(agent)))

    def find(self, text: str, session: SessionKey, authority: Authority, bot_name: str) -> AskedSkill | None:
        """The skill that a message asks for, if its sender may; None if it is an ordinary message.

        Raises:
            BadInput: the message is nothing but an unknown `/word`, or `/skill` with an unknown name.
            StoreUnavailable: it may be a command, and Redis does not say.
        """
        may = authority.covers(Authority.AUTHORIZED)
        known = self.known(session) if may else tuple
        asked = asked_skill(text, bot_name, known) if may else None
        if asked is None:
            check_known(text, reset_triggers=self._triggers, more=lambda: [each.name for each in known()])
        return asked


def asked_skill(text: str, bot_name: str, known: Callable[[], Sequence[SkillCommand]]) -> AskedSkill | None:
    """The skill that a message asks for; None if it is an ordinary message. `known` is asked only if it may be one.

    Raises:
        BadInput: `/skill` names no skill that there is.
    """
    found = slash_word(text, bot_name)
    if found is None:
        return None
    word, argument = found
    if word != "skill":
        command = _find(known(), word)
        return AskedSkill(command, argument) if command else None
    name, _, rest = argument.partition(" ")
    commands = known()
    command = _find(commands, name) if name else None
    if command is None:
        names = [each.skill for each in commands]
        near = nearest(name.lower(), names)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(names) or 'none'}"
        raise BadInput(f"there is no skill {name!r}" if name else "expected /skill, a name and what to do", hint=hint)
    return AskedSkill(command, rest.strip())


def _find(commands: Sequence[SkillCommand], word: str) -> SkillCommand | None:
    name = command_name(word)
    return next((each for each in commands if name == each.name), None) or next(
        (each for each in commands if word.lower() == each.skill.lower()), None
    )
