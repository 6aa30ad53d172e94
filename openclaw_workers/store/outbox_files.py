"""Files that messages to chats bring along, stored in pieces until they are sent."""

from __future__ import annotations

import base64

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.outgoing import MAX_FILE_BYTES, OutgoingFile
from openclaw_workers.errors import BadInput, NotFound, StoreFull
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

PIECE_BYTES = 256 * 1024
"""Redis serves nobody else while it handles a large value."""
KEPT_SECONDS = 3600
"""How long a stored file waits for the message that sends it."""


class OutboxFiles:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def store(self, name: str, media_type: str, content: bytes) -> OutgoingFile:
        """Store a file for a message that is put within the hour.

        Raises:
            BadInput: it is too large.
            StoreFull: Redis has little memory left.
        """
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{name} has {len(content):,} bytes; at most {MAX_FILE_BYTES:,} can be sent as one file")
        file = OutgoingFile(id=new_token() + new_token(), name=name, media_type=media_type, size=len(content))
        for index, start in enumerate(range(0, max(1, len(content)), PIECE_BYTES)):
            piece = base64.b64encode(content[start : start + PIECE_BYTES]).decode()
            reply = run_script(
                self._redis,
                "outbox_file",
                keys={"file_key": self._keys.outbox_file(file.id), **self._keys.shared("memory")},
                args={"index": index, "piece": piece, "keep_s": KEPT_SECONDS},
            )
            if reply[0] == "memory":
                raise StoreFull(int(reply[1]))
        return file

    def load(self, file: OutgoingFile) -> bytes:
        """The bytes of a stored file.

        Raises:
            NotFound: the file has expired or was sent.
        """
        key, content = self._keys.outbox_file(file.id), b""
        with store_errors():
            for index in range(max(1, -(-file.size // PIECE_BYTES))):
                piece = self._redis.lindex(key, index)
                content += base64.b64decode(str(piece or ""))
        if len(content) != file.size:
            raise NotFound(f"the file {file.name} is not stored any more")
        return content
