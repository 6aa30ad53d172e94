"""Questions to people that runs wait for, and what people have allowed for longer than one call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.question import Question, QuestionState
from openclaw_workers.domain.stored_json import record_fields, record_json
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.turn_records import Lease

KEPT_SECONDS = 86_400
"""How long a question is kept after its time is over."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a question stands for the run that asked it. `used`: an earlier owner of the run had the answer."""

    state: Literal["waiting", "answered", "expired", "used"]
    left_ms: int = 0
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """`late`: it was answered before, or its time was over; `question` tells by whom. `gone`: nobody waits for it."""

    state: Literal["answered", "late", "gone"]
    wake: RunId | None = None
    question: Question | None = None


class Questions:
    def __init__(self, redis: Client, keys: Keys, *, rewake_ms: int) -> None:
        self._redis = redis
        self._keys = keys
        self._rewake_ms = rewake_ms

    def ask(self, lease: Lease, question_id: str, record: dict[str, str], *, wait_ms: int, once: bool) -> Asked:
        """Ask, or find out how the same question stands. `once`: only one owner of the run gets the answer.

        Raises:
            LeaseLost: another worker owns the session now.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "ask",
            keys={
                **k.for_session(lease.session, "ctl", "events"),
                "question": k.question(question_id),
                "open": k.questions,
                "waiting": k.asking(lease.session),
                "run_key": k.run(lease.run),
            },
            args={
                "session": lease.session,
                "lease": lease.token,
                "run": lease.run,
                "id": question_id,
                "wait_ms": wait_ms,
                "keep_s": wait_ms // 1000 + KEPT_SECONDS,
                "once": once,
                "record": json.dumps(record),
            },
        )
        match reply:
            case ["waiting", left]:
                return Asked("waiting", left_ms=int(left))
            case ["answered", flat]:
                return Asked("answered", question=_question(_pairs(flat)))
            case ["expired" | "used" as state]:
                return Asked(state)
        raise LeaseLost(f"the lease on {lease.session} was lost")

    def answer(self, question: Question, answer: str, by: str) -> AnswerResult:
        """Answer a question. The first answer counts; a repeat of it changes nothing."""
        k = self._keys
        reply = run_script(
            self._redis,
            "answer",
            keys={
                **k.for_session(question.session, "ctl", "events"),
                "question": k.question(question.id),
                "open": k.questions,
                "waiting": k.asking(question.session),
                "due": k.due,
            },
            args={
                "session": question.session,
                "id": question.id,
                "answer": answer,
                "by": by,
                "rewake_ms": self._rewake_ms,
            },
        )
        match reply:
            case ["answered", run]:
                return AnswerResult("answered", RunId(run) if run else None, question)
            case ["late", state, given, who]:
                changes = {"state": QuestionState(state), "answer": given, "by": who}
                return AnswerResult("late", None, question.model_copy(update=changes))
        return AnswerResult("gone", None, question)

    def get(self, question_id: str) -> Question | None:
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.question(question_id))
        return _question(raw) if raw else None

    def is_held(self, question_id: str) -> bool:
        """Whether a call waits, or waited, for this question and nobody was handed the answer: it has not run."""
        with store_errors():
            state, used = self._redis.hmget(self._keys.question(question_id), ["state", "used"])
        return bool(state) and not used

    def open(self, limit: int = 200) -> list[Question]:
        """Questions that can be answered now, oldest first."""
        with store_errors():
            ids: Any = self._redis.zrangebyscore(self._keys.questions, now_ms(), "+inf", start=0, num=limit)
            self._redis.zremrangebyscore(self._keys.questions, "-inf", now_ms() - KEPT_SECONDS * 1000)
        found = [each for each in map(self.get, map(str, ids)) if each and each.state is QuestionState.WAITING]
        return sorted(filter(self._is_waited_for, found), key=lambda each: each.asked_at)

    def _is_waited_for(self, question: Question) -> bool:
        with store_errors():
            # A run that ended or was stopped leaves its question open until it expires.
            run, abort = self._redis.hmget(self._keys.ctl(question.session), ["run", "abort"])
        return bool(run == question.run and abort != question.run)


class StandingApprovals:
    """Commands that people allowed always, and operations that they allowed for a time."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def allow_always(self, agent_id: str, patterns: Sequence[str], by: str) -> None:
        with store_errors(), self._redis.pipeline() as pipe:
            for pattern in patterns:
                pipe.hset(self._keys.approved(agent_id), pattern, record_json({"by": by, "at": now_ms()}))
            pipe.execute()

    def patterns(self, agent_id: str) -> dict[str, dict[str, Any]]:
        """The patterns of an agent, with who allowed each and when."""
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.approved(agent_id))
        return {str(pattern): record_fields(note, f"approval {pattern}") for pattern, note in raw.items()}

    def revoke(self, agent_id: str, pattern: str) -> bool:
        with store_errors():
            return bool(self._redis.hdel(self._keys.approved(agent_id), pattern))

    def allow_for(self, question: Question, milliseconds: int, by: str) -> None:
        until = now_ms() + milliseconds
        note = {"agent": question.agent, "command": question.command, "cwd": question.cwd, "place": question.place}
        with store_errors():
            self._redis.hset(
                self._keys.approved_operations, question.operation, record_json({**note, "until": until, "by": by})
            )

    def is_allowed(self, operation: str) -> bool:
        with store_errors():
            raw = self._redis.hget(self._keys.approved_operations, operation)
        return bool(raw) and int(record_fields(str(raw), "approval")["until"]) > now_ms()

    def operations(self) -> dict[str, dict[str, Any]]:
        """The operations that are allowed now; those whose time is over are forgotten."""
        with store_errors():
            raw: Any = self._redis.hgetall(self._keys.approved_operations)
            notes = {str(name): record_fields(note, f"approval {name}") for name, note in raw.items()}
            over = [name for name, note in notes.items() if note["until"] <= now_ms()]
            if over:
                self._redis.hdel(self._keys.approved_operations, *over)
        return {name: note for name, note in notes.items() if name not in over}

    def forget(self, operation: str) -> bool:
        with store_errors():
            return bool(self._redis.hdel(self._keys.approved_operations, operation))


def _question(raw: dict[str, str]) -> Question:
    return Question.model_validate(raw)


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
