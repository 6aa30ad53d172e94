"""People and groups of chat channels in Redis: who was let in, who asks to be, and who was refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from openclaw_workers.domain.pairing import Admission, PairingRequest, Refusal, Subject, new_code
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

CODE_MS = 3_600_000
"""How long a pairing code is valid."""
MOST_PENDING = 3
"""Requests of one account."""
QUIET_MS = 60_000
"""How long a person who keeps writing does not get the code again."""
MOST_REFUSED = 200

RecordT = TypeVar("RecordT", Admission, PairingRequest, Refusal)


@dataclass(frozen=True, slots=True)
class PairingCode:
    code: str
    tell: bool
    """Whether to send the code now."""


@dataclass(frozen=True, slots=True)
class Approved:
    owner: bool


@dataclass(frozen=True, slots=True)
class SecondPerson:
    """Somebody else is in the conversation that this person would join."""

    other: str
    """Who was let in before; empty if the configuration names them."""


class Pairings:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def admitted(self, subjects: Sequence[Subject]) -> dict[Subject, Admission]:
        """Those of the subjects who were let in."""
        with store_errors():
            raws = self._redis.hmget(self._keys.admitted, [str(subject) for subject in subjects])
        found = ((subject, _read(Admission, raw)) for subject, raw in zip(subjects, raws, strict=True))
        return {subject: record for subject, record in found if record is not None}

    def request(self, subject: Subject, *, name: str, message_id: str) -> PairingCode | None:
        """The code of a person who asks to be let in; None if the account has as many requests as it may."""
        # "taken": another request has this code, so try again with a new one.
        while True:
            reply = run_script(
                self._redis,
                "pairing_request",
                keys={"pending": self._keys.pending},
                args={
                    "subject": str(subject),
                    "prefix": subject.prefix,
                    "code": new_code(),
                    "most": MOST_PENDING,
                    "keep_ms": CODE_MS,
                    "quiet_ms": QUIET_MS,
                    "message": message_id,
                    "about": _about(subject, name),
                },
            )
            match reply:
                case ["pending", code, tell]:
                    return PairingCode(code, bool(tell))
                case ["full"]:
                    return None

    def approve(
        self,
        subject: Subject,
        *,
        code: str,
        name: str,
        has_owner: bool,
        may_share: bool,
        has_other: bool,
        same_person: Sequence[str] = (),
    ) -> Approved | SecondPerson | None:
        """Let somebody in; None if there is no such request, or no longer. `code` is empty if the subject was named.

        `has_owner`: the configuration names an owner. `may_share`: several people may be in one conversation.
        `has_other`: the configuration lets in another person. `same_person`: subjects that are this person too.
        """
        reply = run_script(
            self._redis,
            "pairing_approve",
            keys={**self._keys.shared("admitted", "pending", "refusals", "refused")},
            args={
                "subject": str(subject),
                "code": code,
                "about": _about(subject, name),
                "is_person": subject.kind == "person",
                "has_owner": has_owner,
                "may_share": may_share,
                "has_other": has_other,
                "same": json.dumps(list(same_person)),
            },
        )
        match reply:
            case ["approved", owner]:
                return Approved(bool(owner))
            case ["second", other]:
                return SecondPerson(other)
        return None

    def revoke(self, subject: str) -> bool:
        """Let somebody in no longer, and forget a request; False if there is neither."""
        k = self._keys
        with store_errors(), self._redis.pipeline() as pipe:
            pipe.hdel(k.admitted, subject)
            pipe.hdel(k.pending, subject)
            return any(pipe.execute())

    def refuse(self, subject: Subject, *, name: str, reason: str, message_id: str) -> None:
        """Note that somebody was not heard; a message that is delivered again counts once."""
        run_script(
            self._redis,
            "pairing_refuse",
            keys={**self._keys.shared("refusals", "refused")},
            args={
                "subject": str(subject),
                "message": message_id,
                "about": _about(subject, name, reason=reason),
                "most": MOST_REFUSED,
            },
        )

    def admissions(self) -> list[Admission]:
        """Everybody who was let in, in that order."""
        return sorted(self._all(Admission, self._keys.admitted), key=lambda record: record.approved_at)

    def requests(self, now_ms: int) -> list[PairingRequest]:
        """Requests whose code is still valid, oldest first."""
        found = self._all(PairingRequest, self._keys.pending)
        return sorted((each for each in found if each.expires_at > now_ms), key=lambda each: each.requested_at)

    def refusals(self) -> list[Refusal]:
        """Who was refused, the latest first."""
        return sorted(self._all(Refusal, self._keys.refusals), key=lambda record: -record.last_at)

    def _all(self, record: type[RecordT], key: str) -> list[RecordT]:
        with store_errors():
            raws: Any = self._redis.hvals(key)
        return [found for raw in raws if (found := _read(record, raw)) is not None]


def _about(subject: Subject, name: str, **more: str) -> str:
    return json.dumps(
        {
            "subject": str(subject),
            "kind": subject.kind,
            "channel": subject.channel,
            "accountId": subject.account_id,
            "personId": subject.person_id,
            "groupId": subject.group_id,
            "name": name,
            **more,
        }
    )


def _read(record: type[RecordT], raw: Any) -> RecordT | None:
    """A record that cannot be read lets nobody in."""
    try:
        return record.model_validate_json(str(raw)) if raw else None
    except ValidationError:
        return None
