"""Model calls that were under way when their run was taken away by a reset or a deletion.

A living owner records its call itself and removes the record. If the owner is dead, nobody takes the run over, so
the sweep records an estimate.
"""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import LOST_CALL, Keys


class LostCallRecord(BaseModel):
    session: SessionKey
    run: RunId
    fence: int
    owner: str
    tokens: int
    row: dict[str, str]


class LostCallRecords:
    """Written by the reset script, in the same moment as it takes the run away."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def get(self, call_id: str) -> LostCallRecord | None:
        """None when its owner has recorded the call meanwhile.

        Raises:
            CorruptRecord: it is not in the form this version writes.
        """
        with store_errors():
            raw = self._redis.hget(self._keys.lost_calls, call_id)
        try:
            return LostCallRecord.model_validate_json(str(raw)) if raw is not None else None
        except ValidationError as error:
            raise CorruptRecord(f"lost call {call_id}", "it is not in the form this version writes") from error

    def forget(self, call_id: str) -> None:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hdel(self._keys.lost_calls, call_id)
            pipe.zrem(self._keys.due, LOST_CALL + call_id)
            pipe.execute()
