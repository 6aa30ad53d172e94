"""Memory in Redis: who owns the embedded index of a place, questions to that process, and its answers."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.ids import new_token
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

REPLY_KEPT_SECONDS = 60
MOST_WAITING = 1_000
"""Questions that may wait for an owner. Whoever asked the oldest ones has given up by then."""
WAIT_SECONDS = 1
"""One blocking read; shorter than the client's own time limit."""


class MemoryRequests:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def lease(self, place: str, token: str, lease_ms: int) -> bool:
        """Own the index of a place, or go on owning it; 0 milliseconds give it up. Says whether the caller owns it."""
        return self._lease(self._keys.memory_owner(place), token, lease_ms)

    def lock_sync(self, name: str, token: str, lease_ms: int) -> bool:
        """The same for the right to bring one agent's part of a server's index up to date."""
        return self._lease(self._keys.memory_sync(name), token, lease_ms)

    def owner(self, place: str) -> str:
        """The token of the owner; "" if there is none."""
        with store_errors():
            return str(self._redis.get(self._keys.memory_owner(place)) or "")

    def ask(self, place: str, operation: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """Put a question to the owner; returns the id under which it answers, and its token ("" if there is none)."""
        request_id = new_token()
        question = json.dumps({"id": request_id, "operation": operation, "arguments": arguments})
        key = self._keys.memory_requests(place)
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.rpush(key, question)
            pipe.ltrim(key, -MOST_WAITING, -1)
            pipe.get(self._keys.memory_owner(place))
            owner = pipe.execute()[-1]
        return request_id, str(owner or "")

    def next_question(self, place: str) -> dict[str, Any] | None:
        """The oldest question; waits for one a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.memory_requests(place)], timeout=WAIT_SECONDS)
        return json.loads(found[1]) if found else None

    def reply(self, request_id: str, answer: dict[str, Any]) -> None:
        key = self._keys.memory_reply(request_id)
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.rpush(key, json.dumps(answer))
            pipe.expire(key, REPLY_KEPT_SECONDS)
            pipe.execute()

    def next_answer(self, request_id: str) -> dict[str, Any] | None:
        """The next part of an answer; waits for it a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.memory_reply(request_id)], timeout=WAIT_SECONDS)
        return json.loads(found[1]) if found else None

    def want_sync(self, place: str, agent_id: str) -> None:
        """Say that an agent's memory may have changed. Nobody waits for it."""
        with store_errors():
            self._redis.sadd(self._keys.memory_wanted(place), agent_id)

    def wanted(self, place: str) -> list[str]:
        """The agents of which that was said since the last time."""
        with store_errors():
            found: Any = self._redis.spop(self._keys.memory_wanted(place), 100)
        return [str(each) for each in found or []]

    def _lease(self, key: str, token: str, lease_ms: int) -> bool:
        answer = run_script(
            self._redis, "memory_lease", keys={"lease": key}, args={"token": token, "lease_ms": lease_ms}
        )
        return bool(answer[0] == "held")
