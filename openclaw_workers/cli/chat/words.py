"""What can be completed in a chat: commands and their arguments, sessions and models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from openclaw_workers.domain.suggest import nearest
from openclaw_workers.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openclaw_workers.cli.backend.protocol import Backend

_ALONE = re.compile(r"/([a-z][a-z0-9_-]*):?\Z", re.I)
_CHOICES = re.compile(r"\[([a-z|]+)\]")
MOST_SESSIONS = 50


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command of the chat itself; all others go to the session."""

    name: str
    usage: str
    summary: str


OWN = (
    ChatCommand("exit", "/exit", "leave; a running turn continues"),
    ChatCommand("history", "/history [N]", "the last N entries of the transcript, 10 by default"),
    ChatCommand("session", "/session KEY", "switch to another session"),
    ChatCommand("steer", "/steer MESSAGE", "a message that the running turn reads before its next model call"),
)


@dataclass
class Words(Completer):
    """Filled in while the chat starts, and used as far as it is filled."""

    commands: list[dict[str, Any]] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    def load(self, backend: Backend, agent: str) -> None:
        self.commands = backend.commands(agent)["commands"]
        self.models = [name for each in backend.models()["models"] for name in (each["model"], *each["aliases"])]
        self.sessions = [each["sessionKey"] for each in backend.sessions(MOST_SESSIONS, None)["sessions"]]

    def check_known(self, text: str) -> None:
        """Refuse a message that is nothing but an unknown `/word`.

        Raises:
            BadInput: naming the nearest command.
        """
        match = _ALONE.match(text.strip())
        # The list may not be loaded yet.
        if match is None or not self.commands:
            return  # the session refuses it
        known = [each.name for each in OWN]
        known += [name for each in self.commands for name in (each["name"], *each["aliases"])]
        word = match[1].lower()
        # Only with a similar command: otherwise it may be a path, or a word that the agent understands.
        if word not in known and (near := nearest(word, known)):
            raise BadInput(f"/{match[1]} is not a command", hint=f"did you mean /{near}?")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Only of a message that begins with a slash."""
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, has_argument, argument = text[1:].partition(" ")
        if not has_argument:
            yield from self._names(name.lower())
            return
        word = argument.rpartition(" ")[2]
        for choice in self._arguments(name.lower(), is_first=" " not in argument):
            if word.lower() in choice.lower():
                yield Completion(choice, start_position=-len(word))

    def _names(self, begun: str) -> Iterator[Completion]:
        own = [(each.name, each.summary) for each in OWN]
        found = dict(own + [(each["name"], each["summary"]) for each in self.commands])
        for name in sorted(found):
            if name.startswith(begun):
                yield Completion(f"/{name}", start_position=-len(begun) - 1, display_meta=found[name])

    def _arguments(self, name: str, *, is_first: bool) -> Sequence[str]:
        if not is_first:
            return ()
        match name:
            case "session":
                return self.sessions
            case "model" | "new":
                return [*self.models, "default", "list"] if name == "model" else self.models
            case "subagents":
                return ("info", "log", "send", "steer", "stop")
            case "help":
                return [each.name for each in OWN] + [each["name"] for each in self.commands]
        usage = next((each["usage"] for each in self.commands if name in (each["name"], *each["aliases"])), "")
        choices = _CHOICES.search(usage)
        return choices[1].split("|") if choices and "|" in choices[1] else ()


def own_help(name: str = "") -> str:
    """The chat's own commands, or one of them; empty if it is none of them."""
    shown = [each for each in OWN if not name or each.name == name.removeprefix("/").lower()]
    return "\n".join(f"{each.usage:<16}  {each.summary}" for each in shown)
