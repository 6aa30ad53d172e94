"""Files in Redis, stored in chunks until somebody has taken them."""

from __future__ import annotations

import base64

from openclaw_workers.errors import NotFound, StoreFull, StoreUnavailable
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

CHUNK_BYTES = 512 * 1024
"""Redis serves nobody else while it handles a large value."""


class FileChunks:
    def __init__(self, redis: Client, keys: Keys, *, keep_seconds: int) -> None:
        """`keep_seconds`: how long a file is kept that nobody takes."""
        self._redis = redis
        self._keys = keys
        self._keep_seconds = keep_seconds

    def store(self, key: str, content: bytes) -> None:
        """Store a file under a key of its own; safe to repeat.

        Raises:
            StoreFull: Redis has little memory left.
            StoreUnavailable: Redis cannot be reached, or has lost the beginning of the file.
        """
        # An empty file gets one empty chunk, which tells it from a missing one.
        for index, start in enumerate(range(0, max(1, len(content)), CHUNK_BYTES)):
            reply = run_script(
                self._redis,
                "store_chunk",
                keys={"file_key": key, **self._keys.shared("memory")},
                args={
                    "index": index,
                    # As text, because the client decodes every answer as UTF-8.
                    "chunk": base64.b64encode(content[start : start + CHUNK_BYTES]).decode(),
                    "keep_s": self._keep_seconds,
                },
            )
            if reply[0] == "memory":
                raise StoreFull(int(reply[1]))
            if reply[0] == "missing":
                raise StoreUnavailable("Redis lost a part of a file that was being stored", hint="send it again")

    def load(self, key: str, size: int, name: str) -> bytes:
        """The bytes of a stored file.

        Raises:
            NotFound: the file has expired or was taken.
        """
        content, index = bytearray(), 0
        while (chunk := self._chunk(key, index)) is not None:
            content += chunk
            index += 1
        # It may expire, or be taken by another worker, between two reads.
        if index == 0 or len(content) != size:
            raise NotFound(f"the file {name} is no longer stored")
        return bytes(content)

    def _chunk(self, key: str, index: int) -> bytes | None:
        with store_errors():
            chunk = self._redis.lindex(key, index)
        return None if chunk is None else base64.b64decode(str(chunk))
