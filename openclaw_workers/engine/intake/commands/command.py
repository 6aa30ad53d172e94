"""What a slash command is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.intake.commands.context import CommandContext


class When(StrEnum):
    NOW = "now"
    IN_ORDER = "in order"


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a command in the inbox does to its session."""

    text: str
    reset: bool = False
    compact: str | None = None
    """Compact the conversation, attending to this."""
    row: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    usage: str
    summary: str
    authority: Authority
    now: Callable[[CommandContext, str], str] | None = None
    in_order: Callable[[str], Ordered] | None = None
    checked: Callable[[Settings, str], str] = lambda settings, argument: argument
    """The argument of one that goes through the inbox, as it is kept there; raises BadInput where it came in."""
    aliases: tuple[str, ...] = ()
    details: str = ""
    """What `/help <command>` adds to the summary."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def when(self) -> When:
        return When.NOW if self.now else When.IN_ORDER
