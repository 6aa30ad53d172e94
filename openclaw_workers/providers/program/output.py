"""Parse the output of a program that serves as a model: plain text, or JSON objects line by line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from openclaw_workers.config.models import CliAgentSettings
from openclaw_workers.domain.transcript import AssistantBlock, TextBlock, Usage


class Output:
    """Collects the answer. In jsonl, lines that are not JSON objects are ignored."""

    def __init__(self, settings: CliAgentSettings) -> None:
        self._settings = settings
        # Incremental: a chunk may end in the middle of a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._line = ""
        self._text = ""
        self.session: str | None = None
        self.usage = Usage()

    def take(self, chunk: bytes) -> Iterator[str]:
        """Add a chunk of output; yield the pieces of the answer that it completes."""
        text = self._decoder.decode(chunk)
        if self._settings.output == "text":
            yield from self._say(text)
            return
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            yield from self._object(line)

    def rest(self) -> Iterator[str]:
        """The output has ended; yield the remaining pieces."""
        yield from self.take(b"\n" if self._settings.output == "jsonl" else b"")
        yield from self._say(self._decoder.decode(b"", final=True))

    def content(self) -> list[AssistantBlock]:
        return [TextBlock(text=self._text)] if self._text.strip() else []

    def _say(self, text: str) -> Iterator[str]:
        if text:
            self._text += text
            yield text

    def _object(self, line: str) -> Iterator[str]:
        try:
            value = json.loads(line)
        except ValueError:
            return
        if isinstance(session := _at(value, self._settings.session_field), str) and session:
            self.session = session
        if isinstance(text := _at(value, self._settings.text_field), str):
            yield from self._say(text)
        if isinstance(usage := _at(value, "usage"), dict):
            self._count(usage)

    def _count(self, usage: dict[str, Any]) -> None:
        def tokens(name: str) -> int:
            return value if isinstance(value := usage.get(name), int) and value > 0 else 0

        self.usage = Usage(
            input=tokens("input_tokens"),
            output=tokens("output_tokens"),
            cache_read=tokens("cache_read_input_tokens"),
            cache_write=tokens("cache_creation_input_tokens"),
        )


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
