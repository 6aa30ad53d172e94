"""Speech to text, by an endpoint with OpenAI's /audio/transcriptions."""

from __future__ import annotations

import httpx2

from openclaw_workers.config.channels import TranscribeSettings
from openclaw_workers.errors import TransientError

SECONDS = 60.0


class Transcriber:
    def __init__(self, settings: TranscribeSettings) -> None:
        self._settings = settings

    async def text(self, name: str, content: bytes) -> str:
        """What is said in a recording.

        Raises:
            TransientError: the endpoint cannot be reached, or gave no text.
        """
        key = self._settings.api_key
        headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        url = f"{str(self._settings.base_url).rstrip('/')}/audio/transcriptions"
        try:
            async with httpx2.AsyncClient(timeout=SECONDS) as client:
                answer = await client.post(
                    url, headers=headers, data={"model": self._settings.model}, files={"file": (name, content)}
                )
            answer.raise_for_status()
            return str(answer.json()["text"]).strip()
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise TransientError(
                f"the voice note could not be transcribed ({type(error).__name__})",
                hint="check channels.telegram.transcribe",
            ) from error
