"""What a person sees first: which session and model this is, what was said last, and which sub-agents are active."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openclaw_workers.cli.conversation import model_of
from openclaw_workers.cli.render.text import printable, styled
from openclaw_workers.cli.render.transcripts import entry_of
from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.transcript import AssistantEntry, UserEntry
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.errors import NotFound

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.protocol import Backend
    from openclaw_workers.cli.chat.terminal import ChatTerminal
    from openclaw_workers.domain.ids import SessionKey

ENTRIES = 50
"""How far back the last exchange is looked for."""
QUESTION_CHARS = 500
ANSWER_CHARS = 3000
MOST_SUBAGENTS = 50


@dataclass(frozen=True, slots=True)
class Overview:
    session: SessionKey
    model: str
    asked: str = ""
    answered: str = ""
    subagents: dict[str, str] = field(default_factory=dict)
    """The labels of those that are active, by run."""


def read_overview(backend: Backend, session: SessionKey, model: str | None) -> Overview:
    """`model` is the one that the chat's messages ask for, if not that of the session."""
    row = backend.row(session)
    model = model or model_of(backend, row, session)
    if not row:
        return Overview(session, model)
    try:
        running = backend.session(session)["runId"]
        entries, _ = backend.history(session, ENTRIES)
        live = backend.subagents(session, MOST_SUBAGENTS, live=True)["subagents"]
    # Between the two reads.
    except NotFound:
        return Overview(session, model)  # it was deleted meanwhile
    # What the running turn says is shown as it was said.
    asked, answered = _last_exchange([each for each in entries if not running or each.get("runId") != running])
    labels = {each["runId"]: each["label"] or each["runId"] for each in live if each["endedAt"] is None}
    return Overview(session, model, asked, answered, labels)


def _last_exchange(entries: list[dict[str, object]]) -> tuple[str, str]:
    answered = ""
    for fields in reversed(entries):
        entry = entry_of(fields)
        if isinstance(entry, AssistantEntry) and not answered:
            answered = entry.text.strip()
        elif isinstance(entry, UserEntry) and entry.provenance in (None, "steer"):
            asked = "\n".join(unwrap(block.text) for block in entry.content)
            return shorten(asked.strip(), QUESTION_CHARS), shorten(answered, ANSWER_CHARS)
    return "", shorten(answered, ANSWER_CHARS)


def show_overview(found: Overview, terminal: ChatTerminal) -> None:
    terminal.note(f"{found.session}  ·  {found.model or 'no model'}")
    terminal.note("/help lists commands, Ctrl-C stops a turn, Ctrl-D leaves")
    if found.asked:
        show_question(found.asked, terminal)
    if found.answered:
        terminal.print(terminal.renderer.markdown(printable(found.answered)))
    if names := ", ".join(found.subagents.values()):
        many = "sub-agents are" if len(found.subagents) > 1 else "sub-agent is"
        terminal.note(f"[{len(found.subagents)} {many} active: {names}]")


def show_question(text: str, terminal: ChatTerminal) -> None:
    """A message of a person, as it was typed."""
    mark = styled(">", sys.stdout, bold=True)
    terminal.print(f"\n{mark} {terminal.renderer.plain(printable(text), hanging='  ')}")
