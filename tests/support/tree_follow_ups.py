"""What parents and children say to each other after the spawn, and that each answer is heard in one way alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, TranscriptEntry
from openclaw_workers.domain.tree import AnnounceMode, Batch, own_batch
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.engine.stores import Stores

READ = ("ok", "no_reply", "error")
"""How a wait ends that has its answer: that it was too long, or was not meant to wait, is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer that a session was given by a call of its own."""

    session: SessionKey
    message: str
    text: str


def is_follow_up(run: Run) -> bool:
    """Whether it was started by a message to a child that had settled."""
    return run.batch == own_batch(run.id)


def is_spoken_to(run: Run) -> bool:
    """Whether it was told something besides its task and the results of its children."""
    return any(not message.startswith(("task-", "announce-")) for message in run.covers)


def words(entries: Iterable[TranscriptEntry]) -> list[str]:
    """What was said in a run; one that yields says that in a call."""
    said = []
    for entry in entries:
        if isinstance(entry, AssistantEntry):
            said.append(entry.text)
        elif isinstance(entry, ToolResultEntry) and entry.tool_name == "sessions_yield" and not entry.is_error:
            said.append(str(json.loads(entry.content[0].text)["message"]))
    return [text for text in said if text]


def readings(stores: Stores, sessions: Iterable[SessionKey]) -> defaultdict[RunId, list[Reading]]:
    """The answers that were waited for, by the run that gave them."""
    found: defaultdict[RunId, list[Reading]] = defaultdict(list)
    for session in sessions:
        for entry in stores.reader.transcript(session):
            if isinstance(entry, ToolResultEntry) and entry.tool_name == "sessions_send":
                told = {}
                with suppress(ValueError):  # the call was cut short
                    told = json.loads(entry.content[0].text)
                if told.get("status") in READ and "runId" in told:
                    text = unwrap(told.get("reply", ""))
                    found[RunId(told["runId"])].append(Reading(session, told["messageId"], text))
    return found


def check_read(stores: Stores, run: Run, batch: Batch, read: list[Reading], announced: int) -> None:
    """I4 for what is waited for: no answer twice, and a follow-up by its wait or by an announce, never by both."""
    messages = [each.message for each in read]
    assert len(set(messages)) == len(messages), f"an answer of {run.id} was read twice: {read}"
    if not is_follow_up(run):
        return
    before = stores.redis.hget(stores.keys.batch(batch.id), "mode_before")
    waited_for = before not in (None, AnnounceMode.NONE) and batch.mode is AnnounceMode.NONE
    row = stores.reader.session(batch.parent_session)
    if waited_for and row is not None and row.session_id == batch.parent_session_id:
        assert len(read) == 1, f"{run.id} was left to its parent, which waited for it, and was read as {read}"
    if announced:
        final = [each for each in read if each.text == (run.text or "")]
        assert final == [], f"{run.id} was announced, and had been read: {final}"
