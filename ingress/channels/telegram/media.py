"""Files of a message: loaded from Telegram, or named to the agent where they cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog
from telegram.error import TelegramError

from ingress.channels.inbound import LoadedMedia
from ingress.channels.telegram.client import TelegramClient
from ingress.channels.telegram.failures import is_transient
from ingress.channels.telegram.normalise import Media
from ingress.channels.transcription import Transcriber
from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.sent_files import MOST_BYTES, SentFile
from openclaw_workers.errors import TransientError

log = structlog.get_logger(__name__)

ATTEMPTS = 3
PAUSE_SECONDS = 1.0
DOWNLOAD_SECONDS = 120.0
UNHEARD = "I cannot listen to voice notes here. Please write instead."


class MediaLoader:
    def __init__(self, client: TelegramClient, *, max_bytes: int, transcriber: Transcriber | None) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._transcriber = transcriber

    async def load(self, media: Sequence[Media]) -> LoadedMedia:
        """Load the files of a message. One that fails is named in the text, and the message goes on without it."""
        files: list[SentFile] = []
        words: list[str] = []
        notice = ""
        room = MOST_BYTES
        for each in media:
            if each.kind == "voice" and self._transcriber is None:
                notice = UNHEARD
                continue
            is_voice = each.kind == "voice"
            content, problem = await self._content(each, self._max_bytes if is_voice else min(self._max_bytes, room))
            if content is None:
                words.append(f"[{each.kind} {safe_file_name(each.name)} was not loaded: {problem}]")
            elif is_voice and self._transcriber is not None:
                words.append(await _spoken(self._transcriber, each, content))
            else:
                files.append(SentFile(each.name, content))
                room -= len(content)
        return LoadedMedia(tuple(files), tuple(words), notice)

    async def _content(self, media: Media, most: int) -> tuple[bytes | None, str]:
        too_large = f"it has more than {self._max_bytes >> 20} MB"
        if most < self._max_bytes:
            too_large = f"the files of a message may have {MOST_BYTES >> 20} MB together"
        if media.size > most:
            return None, too_large
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with asyncio.timeout(DOWNLOAD_SECONDS):
                    content = await self._client.download(media.file_id, most)
            except (TelegramError, TimeoutError) as error:
                shown = self._client.shown(error)
                log.warning("telegram.download_failed", file=media.name, attempt=attempt, error=shown)
                may_retry = isinstance(error, TelegramError) and is_transient(error)
                if attempt == ATTEMPTS or not may_retry:
                    return None, shown
                await asyncio.sleep(PAUSE_SECONDS * attempt)
            else:
                return content, "" if content is not None else too_large
        return None, "it could not be loaded"


async def _spoken(transcriber: Transcriber, media: Media, content: bytes) -> str:
    try:
        return await transcriber.text(media.name, content)
    except TransientError as error:
        return f"[voice note of the sender: {error.message}]"
