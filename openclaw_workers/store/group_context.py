"""Messages of groups that the bot was not asked about; its next turn there reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.stored_json import model_json, versioned
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

KEPT_SECONDS = 86_400
TEXT_CHARS = 2_000
"""Of one message; the rest is cut off."""


class ContextMessage(BaseModel):
    """What somebody wrote in a group."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    message_id: str
    sender_id: str
    sender_name: str
    sent_at: int
    text: str


@dataclass(frozen=True, slots=True)
class PendingContext:
    """What was kept up to now."""

    messages: tuple[ContextMessage, ...] = ()
    last: float = 0
    """The place of the last one."""


NO_CONTEXT = PendingContext()


class GroupContext:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def keep(self, session: SessionKey, message: ContextMessage, most: int) -> None:
        """Keep a message, once however often its channel delivers it."""
        if most <= 0:
            return
        shortened = message.model_copy(update={"text": message.text[:TEXT_CHARS]})
        run_script(
            self._redis,
            "keep_context",
            keys={"context": self._keys.context(session)},
            args={"message": versioned(model_json(shortened)), "most": most, "keep_s": KEPT_SECONDS},
        )

    def pending(self, session: SessionKey) -> PendingContext:
        """What was kept and not read yet, oldest first."""
        with store_errors():
            found: Any = self._redis.zrange(self._keys.context(session), 0, -1, withscores=True)
        messages = (_read(str(raw)) for raw, _ in found)
        # By score, not by number: messages that come from now on have a higher one.
        return PendingContext(tuple(filter(None, messages)), found[-1][1] if found else 0)

    def forget(self, session: SessionKey, read: PendingContext) -> None:
        """A turn has them now. Whoever crashes before this shows them a second time."""
        if read.last:
            with store_errors():
                self._redis.zremrangebyscore(self._keys.context(session), "-inf", read.last)


def _read(raw: str) -> ContextMessage | None:
    try:
        return ContextMessage.model_validate_json(raw)
    except ValidationError:
        return None
