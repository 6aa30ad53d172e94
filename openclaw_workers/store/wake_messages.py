"""Wake-ups as the text that stands in a lane's queue, filled into templates that workers keep in Redis.

Only kombu and Celery know the form of their messages. A worker takes templates from them when it starts. A process that
has the templates can wake workers without Celery, which costs half a second and 25 MB to load.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict, ValidationError

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import new_uuid
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import Keys

WOKEN_AT = "woken_at"
"""Header with the time of publishing, milliseconds; the sweep compares the oldest one with what it looks for."""
SCHEMA_HEADER = "v"
"""Header with the form of the task."""
INDEX = 990_077
"""Stands in a template for the index of a child in its batch, which is a number."""

# The index is a number in JSON, so what stands around it tells it from the same digits inside an id.
_PLACEHOLDER = re.compile(rf'("@WOKEN@"|@TAG@|@ID@|@BODY@|@SHOWN@|@BATCH@|(?<=: ){INDEX}(?=[,}}]))')


class MessageTemplate(BaseModel):
    """A message without its ids."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    text: str
    rest_of_body: str

    @cached_property
    def _pieces(self) -> list[str]:
        """The text, cut at its placeholders; every other piece is the name of one."""
        return _PLACEHOLDER.split(self.text)

    def fill(self, args: list[str], *, task_id: str, shown: str, batch: str = "", index: int = 0) -> str:
        """The message for one task. Joined by hand from pieces: it is made for every turn."""
        rest = self.rest_of_body.replace("@BATCH@", batch) if batch else self.rest_of_body
        body = f"[{json.dumps(args)}{rest}"
        values = {
            '"@WOKEN@"': str(now_ms()),
            "@TAG@": new_uuid(),
            "@ID@": task_id,
            "@BODY@": base64.b64encode(body.encode()).decode(),
            # The template has the quotes already.
            "@SHOWN@": json.dumps(shown)[1:-1],
            "@BATCH@": batch,
            str(INDEX): str(index),
        }
        pieces = self._pieces.copy()
        pieces[1::2] = [values[name] for name in pieces[1::2]]
        return "".join(pieces)


class WakeTemplates(BaseModel):
    """What is needed to publish turns and the headers of chords."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    turns: Mapping[str, MessageTemplate]
    """By lane."""
    header: MessageTemplate
    chord_size_key: str
    """Where Celery keeps the size of a chord."""


class WakeMessages:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def keep(self, templates: WakeTemplates) -> None:
        write(self._redis, (self._keys.wake_messages, "SET", templates.model_dump_json()))

    def load(self) -> WakeTemplates | None:
        """None if no worker has kept any, or if they cannot be read."""
        with store_errors():
            raw = self._redis.get(self._keys.wake_messages)
        try:
            return WakeTemplates.model_validate_json(str(raw)) if raw else None
        except ValidationError:
            return None
