"""Questions to a place: which process answers for a state directory, what it is asked, and what it answers."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.stored_json import record_fields, record_json
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

REPLY_KEPT_SECONDS = 60
MOST_WAITING = 1_000
"""Questions that may wait for an owner. Whoever asked the oldest ones has given up by then."""
WAIT_SECONDS = 1
"""One blocking read; shorter than the client's own time limit."""


def take_lease(redis: Client, key: str, token: str, lease_ms: int) -> bool:
    """Take, renew or (with 0 milliseconds) give up a lease that is a single key. Says whether the caller holds it."""
    answer = run_script(redis, "lease", keys={"lease": key}, args={"token": token, "lease_ms": lease_ms})
    return bool(answer[0] == "held")


class PlaceRequests:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def lease(self, place: str, token: str, lease_ms: int) -> bool:
        """Answer for a place, or go on doing so; 0 milliseconds give it up. Says whether the caller is its owner."""
        return take_lease(self._redis, self._keys.place_owner(place), token, lease_ms)

    def owner(self, place: str) -> str:
        """The token of the owner; "" if there is none."""
        with store_errors():
            return str(self._redis.get(self._keys.place_owner(place)) or "")

    def ask(self, place: str, operation: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """Put a question to the owner; returns the id under which it answers, and its token ("" if there is none)."""
        request_id = new_token()
        question = record_json({"id": request_id, "operation": operation, "arguments": arguments})
        key = self._keys.place_requests(place)
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.rpush(key, question)
            pipe.ltrim(key, -MOST_WAITING, -1)
            # The owner of this moment: if another one follows, the question may be lost with this one.
            pipe.get(self._keys.place_owner(place))
            owner = pipe.execute()[-1]
        return request_id, str(owner or "")

    def next_question(self, place: str) -> dict[str, Any] | None:
        """The oldest question; waits for one a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.place_requests(place)], timeout=WAIT_SECONDS)
        return record_fields(found[1], "message between hosts") if found else None

    def reply(self, request_id: str, answer: dict[str, Any]) -> None:
        key = self._keys.place_reply(request_id)
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.rpush(key, record_json(answer))
            pipe.expire(key, REPLY_KEPT_SECONDS)
            pipe.execute()

    def next_answer(self, request_id: str) -> dict[str, Any] | None:
        """The next part of an answer; waits for it a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.place_reply(request_id)], timeout=WAIT_SECONDS)
        return record_fields(found[1], "message between hosts") if found else None
