"""How a heartbeat's turn ends: an alert is sent, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from openclaw_workers.agent.output.heartbeat_reply import HEARTBEAT_OK, PROVENANCE, alert_text
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry
from openclaw_workers.store.turn_records import Outcome

SAME_TEXT_MS = 24 * 3_600_000
"""An alert that says the same as the last one is not sent again within this time."""


def is_beat(bound: Sequence[InboxEntry]) -> bool:
    return bool(bound) and bound[0].metadata.get("provenance") == PROVENANCE


def of_beat(outcome: Outcome, row: Mapping[str, str], now: int, *, ack_max_chars: int) -> Outcome:
    """The outcome of a heartbeat: without the token, and without text if there is nothing new to tell.

    A turn without an alert ends with exactly HEARTBEAT_OK in the transcript, so that later turns do not see it.
    """
    # A failure is shown like that of any other turn.
    if outcome.state is not RunState.OK:
        return outcome
    alert = alert_text(outcome.text, ack_max_chars=ack_max_chars)
    if not alert:
        return replace(outcome, text="", reason="silent", entries=_quiet(outcome.entries))
    last, sent_at = row.get("lastHeartbeatText"), int(row.get("lastHeartbeatSentAt") or 0)
    # The transcript keeps it, so the model knows that it has told people already.
    if alert == last and now - sent_at < SAME_TEXT_MS:
        return replace(outcome, text="", reason="duplicate")
    sent = {"lastHeartbeatText": alert, "lastHeartbeatSentAt": str(now)}
    return replace(outcome, text=alert, row={**outcome.row, **sent})


def _quiet(entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    return [
        entry.model_copy(update={"content": [TextBlock(text=HEARTBEAT_OK)]})
        if isinstance(entry, AssistantEntry)
        else entry
        for entry in entries
    ]
