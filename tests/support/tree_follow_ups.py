"""Messages between parents and children after the spawn: each answer is either read or announced, never both."""

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
"""The statuses of a wait that got its answer; a timeout or a call without a wait has none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer that a session got from its own sessions_send call."""

    session: SessionKey
    message: str
    text: str


def is_follow_up(run: Run) -> bool:
    """Whether a message to a settled child started this run."""
    return run.batch == own_batch(run.id)


def is_spoken_to(run: Run) -> bool:
    """Whether it got a message besides its task and its children's results."""
    return any(not message.startswith(("task-", "announce-")) for message in run.covers)


def words(entries: Iterable[TranscriptEntry]) -> list[str]:
    """The answers of a run; a run that yields gives its answer in the call."""
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
                result = {}
                with suppress(ValueError):  # the call was interrupted
                    result = json.loads(entry.content[0].text)
                if result.get("status") in READ and "runId" in result:
                    text = unwrap(result.get("reply", ""))
                    found[RunId(result["runId"])].append(Reading(session, result["messageId"], text))
    return found


def check_read(stores: Stores, run: Run, batch: Batch, read: list[Reading], announced: int) -> None:
    """I4 for waits: no answer is read twice, and a follow-up is either read by its wait or announced, never both."""
    messages = [each.message for each in read]
    assert len(set(messages)) == len(messages), f"an answer of {run.id} was read twice: {read}"
    if not is_follow_up(run):
        return
    before = stores.redis.hget(stores.keys.batch(batch.id), "mode_before")
    waited_for = before not in (None, AnnounceMode.NONE) and batch.mode is AnnounceMode.NONE
    row = stores.reader.session(batch.parent_session)
    if waited_for and row is not None and row.session_id == batch.parent_session_id:
        assert len(read) == 1, f"{run.id}: its parent waited for it and read {read}"
    if announced:
        final = [each for each in read if each.text == (run.text or "")]
        assert final == [], f"{run.id} was announced and also read: {final}"
