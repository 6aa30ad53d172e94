"""Changing sessions from outside a turn: overrides, a given beginning, reset at once, deletion."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from openclaw_workers.domain.ids import RunId, SessionKey, new_session_id
from openclaw_workers.domain.outgoing import NO_DELIVERY, Delivery
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.transcript import TranscriptEntry, dump_entry
from openclaw_workers.errors import StoreFull
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.inbox import DEDUPE_SECONDS, pairs
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.turn_records import Granted

Partial = Callable[[RunId], str]


@dataclass(frozen=True, slots=True)
class SessionEnded:
    granted: Granted
    settled: RunId | None
    """A child's run that ended with it, and whose batch must hear of it."""
    session_id: str = ""
    """Whose transcript was cut off."""


@dataclass(frozen=True, slots=True)
class _Order:
    """How a session is to end."""

    verb: str
    cap: int
    partial: Partial = lambda run: ""
    unused_since: int | None = None
    """Only if it is idle and was last used then."""
    to_chat: Delivery = NO_DELIVERY
    """What the session's chat is sent, and the chats of cancelled messages."""


class Sessions:
    def __init__(self, redis: Client, keys: Keys, *, grant_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._grant_ms = grant_ms

    def patch(self, key: SessionKey, fields: dict[str, str], *, delivery: str = "") -> bool:
        """Set row fields; an empty value clears one. False when there is no such session.

        `delivery` is that of the message that asks for this: if it comes again it changes nothing.
        """
        reply = run_script(
            self._redis,
            "patch_row",
            keys={
                "row": self._keys.row(key),
                # A script needs all its keys. Without a delivery, `keep_s` is 0 and this one is not touched.
                "dedupe": self._keys.dedupe(delivery),
                "label_prefix": self._keys.label(""),
            },
            args={"session": key, "changes": json.dumps(fields), "keep_s": DEDUPE_SECONDS if delivery else 0},
        )
        return bool(reply[0] == "ok")

    def begin(self, key: SessionKey, row: Mapping[str, str]) -> None:
        """Create a session without a message; one that exists stays as it is.

        Raises:
            StoreFull: not created, because Redis has little memory left.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "begin_session",
            keys={**k.for_session(key, "row", "receipts"), **k.shared("sessions", "memory")},
            args={
                "session": key,
                "new_session_id": new_session_id(),
                "agent": agent_of(key),
                "row_new": json.dumps(dict(row)),
            },
        )
        if reply[0] == "memory":
            raise StoreFull(int(reply[1]))

    def create_temporary(
        self, key: SessionKey, entries: Sequence[TranscriptEntry], *, row: Mapping[str, str], keep_seconds: int
    ) -> bool:
        """Create a session that begins with these entries; it goes, without an archive, when it was not used so long.

        False if there is such a session already, which stays as it is.

        Raises:
            StoreFull: not created, because Redis has little memory left.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "create_temporary",
            keys={**k.for_session(key, "row", "log"), **k.shared("sessions", "due", "memory")},
            args={
                "session": key,
                "new_session_id": new_session_id(),
                "agent": agent_of(key),
                "row_new": json.dumps(dict(row)),
                "keep_ms": keep_seconds * 1000,
            },
            more_args=[dump_entry(entry) for entry in entries],
        )
        if reply[0] == "memory":
            raise StoreFull(int(reply[1]))
        return bool(reply[0] == "created")

    def reset(
        self,
        key: SessionKey,
        lane: Lane,
        *,
        cap: int,
        partial: Partial = lambda run: "",
        to_chat: Delivery = NO_DELIVERY,
    ) -> SessionEnded | None:
        """Start a new session under the same key, at once; None when there is no such session.

        `partial`: what a run that ends with it had written so far. `to_chat`: what its chat is sent.
        """
        return self._end(key, lane, _Order("reset", cap, partial, to_chat=to_chat))

    def delete(
        self,
        key: SessionKey,
        lane: Lane,
        *,
        cap: int,
        partial: Partial = lambda run: "",
        to_chat: Delivery = NO_DELIVERY,
    ) -> SessionEnded | None:
        """Delete a session; `to_chat`: what the chats of cancelled messages are sent."""
        return self._end(key, lane, _Order("delete", cap, partial, to_chat=to_chat))

    def retire(self, key: SessionKey, lane: Lane, *, cap: int, unused_since: int) -> SessionEnded | None:
        """Delete a session that nobody has used since; otherwise it stays, and the answer is None too."""
        return self._end(key, lane, _Order("delete", cap, unused_since=unused_since))

    def expire(self, key: SessionKey, lane: Lane, *, cap: int, unused_since: int) -> SessionEnded | None:
        """Start a new session under the key of one that nobody has used since; otherwise it stays: None."""
        return self._end(key, lane, _Order("expire", cap, unused_since=unused_since))

    def _end(self, key: SessionKey, lane: Lane, order: _Order) -> SessionEnded | None:
        k = self._keys
        while True:
            with store_errors():
                state, last = self._redis.hmget(k.ctl(key), ["state", "run"])
            run = str(last or "")
            # Read before the script: afterwards the transcript belongs to an archive.
            taken_away = order.partial(RunId(run)) if run and state != "idle" else ""
            reply = run_script(
                self._redis,
                "reset",
                keys={
                    **k.for_session(
                        key,
                        "row",
                        "ctl",
                        "inbox",
                        "bound",
                        "receipts",
                        "log",
                        "events",
                        "live",
                        "children",
                        "spawned",
                        "system_events",
                        "event_keys",
                    ),
                    **k.shared(
                        "due", "running", "sessions", "archives", "stop_orders", "threads", "lost_calls", "outgoing"
                    ),
                    **k.for_lane(lane, "slots", "line"),
                    "run_key": k.run(RunId(run)),
                    "archive_prefix": k.archive(""),
                    "label_prefix": k.label(""),
                },
                args={
                    "session": key,
                    "run": run,
                    "verb": order.verb,
                    "new_session_id": new_session_id(),
                    "cap": order.cap,
                    "grant_ms": self._grant_ms,
                    "partial": taken_away,
                    "unused_since": "" if order.unused_since is None else order.unused_since,
                    "delivery": order.to_chat.as_json,
                },
            )
            if reply[0] == "done":
                return SessionEnded(pairs(reply[1]), RunId(run) if reply[2] else None, str(reply[3]))
            # Any other answer is "other": the run changed between the read and the script, so try again with that one.
            if reply[0] in ("missing", "used"):
                return None

    def in_thread(self, address: str) -> SessionKey | None:
        """The session that is bound to a thread, by the address of its route."""
        with store_errors():
            found = self._redis.hget(self._keys.threads, address)
        return SessionKey(str(found)) if found else None
