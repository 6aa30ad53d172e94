"""Moves of an agent's files from one host to another: which are under way, how far they are, and the pieces of files.

The host that gets the files asks for them, one piece at a time; a host that sees the old place answers. So Redis holds
at most one piece of each move, and whoever dies is replaced without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.stored_json import record_fields, record_json
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.places import MOVING

PIECE_BYTES = 512 * 1024
"""Redis serves nobody else while it handles a large value."""
KEPT_SECONDS = 30 * 86_400
REPLY_SECONDS = 60
WAIT_SECONDS = 1
MOST_REQUESTS = 10

MoveState = Literal["copying", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Move:
    id: str
    agent_id: str
    from_place: str
    to_host: str
    to_place: str
    with_files: bool
    state: MoveState
    began_at: int
    ended_at: int | None = None
    error: str = ""
    files: int = 0
    """How many there are, as far as known."""
    files_done: int = 0
    bytes_done: int = 0
    waits: str = ""
    """What it waits for; empty while it gets on."""
    kept_at: str = ""
    """Where what lay at the new place before is kept; empty if there was nothing."""

    @property
    def is_over(self) -> bool:
        return self.state != "copying"


class Moves:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def begin(self, agent_id: str, to_host: str, to_place: str, *, with_files: bool, move_id: str = "") -> Move:
        """Begin a move, under an id of the caller or a new one.

        Raises:
            ConflictError: a turn of the agent is running, or its files are being moved already.
            NotFound: the agent has no files yet.
        """
        k, move_id = self._keys, move_id or new_token()
        reply = run_script(
            self._redis,
            "move_begin",
            keys={**k.shared("places", "moves", "running"), "move": k.move(move_id)},
            args={
                "agent": agent_id,
                "own": f"agent:{agent_id}:",
                "id": move_id,
                "to_host": to_host,
                "to_place": to_place,
                "with_files": with_files,
                "keep_s": KEPT_SECONDS,
            },
        )
        match reply:
            case ["begun", _]:
                return self.get(move_id)
            case ["busy", session]:
                hint = f"wait until it has ended, or stop it with `ocw runs stop`; `ocw status` shows {session}"
                raise ConflictError(f"a turn of agent {agent_id} is running in {session}", hint=hint)
            case ["moving", _]:
                hint = f"`ocw agents move {agent_id}` shows how far it is, `--cancel` ends it"
                raise ConflictError(f"the files of agent {agent_id} are being moved already", hint=hint)
        raise NotFound(f"agent {agent_id} has no files yet: none of its turns has run", hint="there is nothing to move")

    def end(self, move: Move, state: MoveState, error: str = "") -> bool:
        """End a move; says whether it ended this way."""
        k = self._keys
        # A move that failed or was cancelled leaves the old files where they are.
        place = move.to_place if state == "done" else move.from_place
        reply = run_script(
            self._redis,
            "move_end",
            keys={
                **k.shared("places", "moves"),
                "move": k.move(move.id),
                "waits": k.place_waits(f"{MOVING}{move.id}"),
                "waits_old": k.place_waits(move.from_place),
                "waits_next": k.place_waits(place),
            },
            args={"agent": move.agent_id, "id": move.id, "state": state, "place": place, "why": error},
        )
        return bool(reply[0] == "ended")

    def current(self, agent_id: str) -> Move | None:
        """The move of an agent that is under way."""
        with store_errors():
            move_id = self._redis.hget(self._keys.moves, agent_id)
        return self.get(str(move_id)) if move_id else None

    def get(self, move_id: str) -> Move:
        """Raises:
        NotFound: it was long ago, or there never was one.
        """
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.move(move_id))
        if not raw:
            raise NotFound(f"no move {move_id}")
        return Move(
            id=raw["id"],
            agent_id=raw["agent"],
            from_place=raw["from_place"],
            to_host=raw["to_host"],
            to_place=raw["to_place"],
            with_files=raw["with_files"] == "1",
            state=raw["state"],
            began_at=int(raw["began_at"]),
            ended_at=int(raw["ended_at"]) if raw.get("ended_at") else None,
            error=raw.get("error", ""),
            files=int(raw.get("files", 0)),
            files_done=int(raw.get("files_done", 0)),
            bytes_done=int(raw.get("bytes_done", 0)),
            waits=raw.get("waits", ""),
            kept_at=raw.get("kept_at", ""),
        )

    def note(self, move: Move, **fields: str | int) -> None:
        """Keep how far a move is, for people."""
        words = [word for item in fields.items() for word in item]
        write(self._redis, (self._keys.move(move.id), "HSET", *words))

    def lease(self, move: Move, token: str, lease_ms: int) -> bool:
        """Carry a move out, or go on with it; 0 milliseconds give it up. Says whether the caller does."""
        reply = run_script(
            self._redis,
            # The script serves every lease that is a single key, not only those of memory.
            "lease",
            keys={"lease": self._keys.move_lease(move.id)},
            args={"token": token, "lease_ms": lease_ms},
        )
        return bool(reply[0] == "held")

    def ask(self, move: Move, operation: str, arguments: Mapping[str, Any]) -> str:
        """Ask a host that sees the old place; returns the id under which it answers."""
        request_id, key = new_token(), self._keys.move_requests(move.id)
        question = record_json({"id": request_id, "operation": operation, **arguments})
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.rpush(key, question)
            # Nobody may answer for a long time. Whoever asked the older questions has given up.
            pipe.ltrim(key, -MOST_REQUESTS, -1)
            pipe.expire(key, REPLY_SECONDS)
            pipe.execute()
        return request_id

    def next_question(self, move_id: str) -> dict[str, Any] | None:
        """The oldest question; waits for one a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.move_requests(move_id)], timeout=WAIT_SECONDS)
        return record_fields(found[1], "message between hosts") if found else None

    def reply(self, request_id: str, answer: Mapping[str, Any]) -> None:
        key = self._keys.move_reply(request_id)
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.rpush(key, record_json(answer))
            pipe.expire(key, REPLY_SECONDS)
            pipe.execute()

    def answer(self, request_id: str) -> dict[str, Any] | None:
        """The answer; waits for it a little."""
        with store_errors():
            found: Any = self._redis.blpop([self._keys.move_reply(request_id)], timeout=WAIT_SECONDS)
        return record_fields(found[1], "message between hosts") if found else None
