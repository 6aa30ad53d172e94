"""Files that messages to chats bring along, stored in chunks until they are sent."""

from __future__ import annotations

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.outgoing import MAX_FILE_BYTES, OutgoingFile
from openclaw_workers.errors import BadInput
from openclaw_workers.store.client import Client
from openclaw_workers.store.file_chunks import FileChunks
from openclaw_workers.store.keys import Keys

KEPT_SECONDS = 3600
"""How long a stored file waits for the message that sends it."""


class OutboxFiles:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._chunks = FileChunks(redis, keys, keep_seconds=KEPT_SECONDS)
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
        self._chunks.store(self._keys.outbox_file(file.id), content)
        return file

    def load(self, file: OutgoingFile) -> bytes:
        """The bytes of a stored file.

        Raises:
            NotFound: the file has expired or was sent.
        """
        return self._chunks.load(self._keys.outbox_file(file.id), file.size, file.name)
