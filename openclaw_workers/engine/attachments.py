"""Files that come with a message: stored in Redis, with the place in the workspace where a worker writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256

from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.media_types import SNIFFED_BYTES, media_type
from openclaw_workers.domain.messages import InboundMessage
from openclaw_workers.domain.sent_files import MOST_FILES, SentFile, check_files
from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.uploads import Uploads

INBOX_FOLDER = ".openclaw/inbox"

Store = Callable[[bytes, str], object]
"""Stores the bytes of a file under an id."""


class MessageFiles:
    """Stores the files of messages that are being accepted."""

    def __init__(self, uploads: Uploads, inbox: Inbox) -> None:
        self._uploads = uploads
        self._inbox = inbox

    def store(self, message: InboundMessage, files: Sequence[SentFile]) -> InboundMessage:
        """The message with its files. A message that is known is a repeat, whatever comes with it: nothing is stored.

        Raises:
            BadInput: they are too many or too large.
            StoreUnavailable: one could not be stored.
        """
        session = message.session_key
        store = None if self._inbox.receipt(session, message.id) else self._uploads.store
        folder = message_folder(session, message.id, files)
        attached = attach(files, folder, owner=f"{session}\0{message.id}", store=store)
        return message.model_copy(update={"attachments": (*message.attachments, *attached)})

    def discard(self, message: InboundMessage) -> None:
        """Delete the files of a message that nobody will answer; if that fails, they expire."""
        if uploads := [file.upload for file in message.attachments if file.upload]:
            with suppress(StoreUnavailable):
                self._uploads.discard(uploads)


def message_folder(session: SessionKey, message: MessageId, files: Sequence[SentFile]) -> str:
    """Where the files of a message are written. Senders may number the messages of each session alike, and number
    them again; neither may lead to the files of another message."""
    digest = sha256(session.encode())
    for file in files:
        digest.update(sha256(file.content).digest())
    return f"{INBOX_FOLDER}/{re.sub(r'[^A-Za-z0-9_-]', '_', message)[:100]}-{digest.hexdigest()[:8]}"


def attach(
    files: Sequence[SentFile], folder: str, *, owner: str, store: Store | None, most: int = MOST_FILES
) -> list[Attachment]:
    """Store files for a message; the ids follow from `owner`, so that a repeat of the message stores nothing more.

    Without `store` nothing is stored: the message is known already.

    Raises:
        BadInput: they are too many or too large.
        StoreUnavailable: one could not be stored.
    """
    check_files(files, most)
    return [_stored(file, folder, index, owner, store) for index, file in enumerate(files, start=1)]


def _stored(file: SentFile, folder: str, index: int, owner: str, store: Store | None) -> Attachment:
    # Whoever sent the file chose its name, and a model reads it beside the message.
    name = safe_file_name(file.name)
    upload = sha256(f"{owner}\0{index}\0".encode() + sha256(file.content).digest()).hexdigest()[:32]
    if store is not None:
        store(file.content, upload)
    return Attachment(
        name=name,
        mime_type=media_type(file.name, file.content[:SNIFFED_BYTES]),
        path=f"{folder}/{index}-{name}",
        upload=upload,
        size=len(file.content),
    )
