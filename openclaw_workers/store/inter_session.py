"""Sessions that talk to each other: waiting for an answer, and passing answers on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from openclaw_workers.domain.ids import MessageId, RunId, SessionId, SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import RELAY, Keys

MOST_WAITERS = 1_000


@dataclass(frozen=True, slots=True)
class Wait:
    """How the wait for an answer stands: `over` is out of time, `settled` has an answer or never will."""

    state: Literal["waiting", "over", "settled", "gone"]
    left_ms: int = 0
    receipt: Receipt | None = None


class Relay(BaseModel):
    """An answer to another session's message; only the commit of the answering run writes it."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    session: SessionKey
    """Who answered."""
    session_id: SessionId
    run: RunId
    text: str
    metadata: dict[str, str]
    """Of the message that was answered."""
    authority: Authority = Authority.ANYONE
    """Of the run that answered."""


class InterSession:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def expect(self, target: SessionKey, message: MessageId, waiting: SessionKey) -> None:
        """Say before a message is sent that its answer will be waited for: it may come before the wait begins."""
        self._wait(target, message, waiting, 0, only_expect=True)

    def asked(self, message: MessageId, waiting: SessionKey) -> SessionKey | None:
        """Whom a session has sent the message to whose answer it waits for, or is about to."""
        with store_errors():
            # Read from the record, not from memory: the run may have been parked and taken by another worker since.
            waits_for, target = self._redis.hmget(self._keys.ctl(waiting), ["waits_for", "waits_on"])
        return SessionKey(str(target)) if waits_for == message and target else None

    def wait(self, target: SessionKey, message: MessageId, waiting: SessionKey, wait_ms: int) -> Wait:
        """Enter `waiting` as one that waits, unless the message is settled or the time is over. Safe to repeat."""
        match self._wait(target, message, waiting, wait_ms, only_expect=False):
            case ["waiting", left]:
                return Wait("waiting", left_ms=int(left))
            case ["over", raw]:
                return Wait("over", receipt=Receipt.model_validate_json(raw))
            case ["settled", raw]:
                return Wait("settled", receipt=Receipt.model_validate_json(raw))
        return Wait("gone")

    def _wait(
        self, target: SessionKey, message: MessageId, waiting: SessionKey, wait_ms: int, *, only_expect: bool
    ) -> list[str]:
        return run_script(
            self._redis,
            "wait",
            keys={**self._keys.for_session(target, "receipts", "waiters"), "ctl": self._keys.ctl(waiting)},
            args={
                "id": message,
                "session": waiting,
                "wait_ms": wait_ms,
                "only_expect": only_expect,
                "target": target,
            },
        )

    def give_up(self, target: SessionKey, message: MessageId, waiting: SessionKey) -> None:
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.hdel(self._keys.waiters(target), message)
            pipe.hdel(self._keys.ctl(waiting), "waits_for", "waits_on")
            pipe.execute()

    def waiting_for(self, session: SessionKey) -> set[SessionKey]:
        """Sessions that wait for this one, or for one that does."""
        found: set[SessionKey] = set()
        look = [session]
        while look and len(found) < MOST_WAITERS:
            with store_errors():
                waiting = self._redis.hvals(self._keys.waiters(look.pop()))
            # Without those that are known: sessions that wait for each other form a circle.
            new = {SessionKey(str(name)) for name in waiting} - found
            found |= new
            look += new
        return found

    def wake_waiters(self, session: SessionKey) -> None:
        """Messages to the session were cancelled: whoever waits for their answers need not."""
        k = self._keys
        run_script(
            self._redis,
            "wake_waiters",
            keys={**k.for_session(session, "receipts", "waiters"), "due": k.due},
        )

    def relay(self, message: MessageId) -> Relay | None:
        with store_errors():
            raw = self._redis.hget(self._keys.relays, message)
        return Relay.model_validate_json(str(raw)) if raw else None

    def relayed(self, message: MessageId) -> None:
        """It was passed on, or needs not be; forget it."""
        k = self._keys
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.hdel(k.relays, message)
            pipe.zrem(k.due, RELAY + message)
            pipe.execute()
