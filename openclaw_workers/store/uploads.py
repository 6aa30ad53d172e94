"""Files on their way to an agent: in Redis until a worker has written them into the workspace where the turn runs."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.domain.ids import new_token
from openclaw_workers.store.client import Client, store_errors
from openclaw_workers.store.file_chunks import FileChunks
from openclaw_workers.store.keys import Keys

KEPT_SECONDS = 24 * 3600


class Uploads:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._chunks = FileChunks(redis, keys, keep_seconds=KEPT_SECONDS)

    def store(self, content: bytes, upload_id: str = "") -> str:
        """Store a file; returns its id, a new one unless it is given. Safe to repeat with a given one.

        Raises:
            StoreFull: Redis has little memory left.
            StoreUnavailable: it is not stored, as far as we know.
        """
        upload_id = upload_id or new_token() + new_token()
        self._chunks.store(self._keys.upload(upload_id), content)
        return upload_id

    def load(self, upload_id: str, size: int, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            NotFound: it has expired, or was written.
        """
        return self._chunks.load(self._keys.upload(upload_id), size, name)

    def discard(self, upload_ids: Sequence[str]) -> None:
        """Delete files that are written, or that nobody will ask for. Safe to repeat."""
        if upload_ids:
            with store_errors():
                self._redis.unlink(*(self._keys.upload(each) for each in upload_ids))
