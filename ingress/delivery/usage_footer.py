"""The usage line below a reply, for sessions that have it switched on (`/usage`)."""

from __future__ import annotations

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.usage_line import usage_line
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.reader import Reader


def with_usage(message: OutgoingMessage, reader: Reader) -> OutgoingMessage:
    if message.kind not in (OutgoingKind.REPLY, OutgoingKind.ANNOUNCE) or not message.run_id:
        return message
    level = reader.row(SessionKey(message.session_key)).get("responseUsage", "")
    if level in ("", "off"):
        return message
    try:
        run = reader.run(RunId(message.run_id))
    except CorruptRecord:
        return message
    line = usage_line(run, level) if run else ""
    return message.model_copy(update={"text": f"{message.text}\n\n_{line}_"}) if line else message
