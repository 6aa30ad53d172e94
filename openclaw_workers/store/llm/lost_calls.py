"""Model calls that were under way when their run was taken away by a reset or a deletion.

A living owner records its call itself and removes the orphan. If the owner is dead, nobody takes the run over, so the
sweep records an estimate.
"""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.keys import ORPHAN, Keys


class Orphan(BaseModel):
    session: SessionKey
    run: RunId
    fence: int
    owner: str
    tokens: int
    row: dict[str, str]


class Orphans:
    """Written by the reset script, in the same moment as it takes the run away."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def get(self, orphan_id: str) -> Orphan | None:
        """None when its owner has recorded the call meanwhile.

        Raises:
            CorruptRecord: it is not in the form this version writes.
        """
        with store_errors():
            raw = self._redis.hget(self._keys.orphans, orphan_id)
        try:
            return Orphan.model_validate_json(str(raw)) if raw is not None else None
        except ValidationError as error:
            raise CorruptRecord(f"orphan {orphan_id}", "it is not in the form this version writes") from error

    def forget(self, orphan_id: str) -> None:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hdel(self._keys.orphans, orphan_id)
            pipe.zrem(self._keys.due, ORPHAN + orphan_id)
            pipe.execute()
