"""What people do in Telegram, as the updates that a bot gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
STARTED_AT = 1_790_000_000
"""Unix time of the first message."""


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    name: str = "Ada"
    username: str = ""
    is_bot: bool = False

    def json(self) -> Json:
        named = {"username": self.username} if self.username else {}
        return {"id": self.id, "is_bot": self.is_bot, "first_name": self.name, **named}


@dataclass(frozen=True, slots=True)
class Chat:
    id: int
    type: str = "private"
    title: str = ""
    is_forum: bool = False

    def json(self) -> Json:
        shown = {"title": self.title} if self.title else {"first_name": "Ada"}
        return {"id": self.id, "type": self.type, **shown, **({"is_forum": True} if self.is_forum else {})}


ADA = Person(1001, "Ada", "ada")
BOB = Person(1002, "Bob")
EVE = Person(1003, "Eve")


def private(person: Person) -> Chat:
    return Chat(person.id)


def group(number: int = 7, title: str = "Team", *, forum: bool = False) -> Chat:
    return Chat(-1_000_000_000_000 - number, "supergroup", title, forum)


@dataclass(slots=True)
class StoredFile:
    """A file that can be fetched with getFile."""

    content: bytes
    path: str
    size: int | None = None
    """What Telegram says of its size; None: the truth."""
    seconds: float = 0.0
    """How long its download takes."""


@dataclass(slots=True)
class Draft:
    """A message under construction; `FakeBot.say` numbers and delivers it."""

    sender: Person = ADA
    chat: Chat | None = None
    text: str = ""
    topic: int = 0
    reply_to: Json | None = None
    quote: str = ""
    entities: list[Json] = field(default_factory=list)
    extra: Json = field(default_factory=dict)
    """Further fields of the message: photo, document, voice, media_group_id …"""

    def json(self, message_id: int) -> Json:
        chat = self.chat or private(self.sender)
        words: Json = {}
        if self.text:
            has_file = any(name in self.extra for name in ("photo", "document", "voice", "video", "audio"))
            words = {"caption": self.text} if has_file else {"text": self.text}
            if self.entities:
                words["caption_entities" if has_file else "entities"] = self.entities
        if self.topic:
            words |= {"message_thread_id": self.topic, "is_topic_message": True}
        if self.reply_to:
            words["reply_to_message"] = self.reply_to
        if self.quote:
            words["quote"] = {"text": self.quote, "position": 0}
        base = {"message_id": message_id, "date": STARTED_AT + message_id, "chat": chat.json()}
        return {**base, "from": self.sender.json(), **words, **self.extra}


def mention(text: str, username: str) -> list[Json]:
    """The entity that Telegram adds for @username in a text."""
    at = text.index(f"@{username}")
    offset = len(text[:at].encode("utf-16-le")) // 2
    return [{"type": "mention", "offset": offset, "length": len(username) + 1}]


def photo(file_id: str, size: int = 10) -> Json:
    sizes = [("small", 90), (file_id, 1280)]
    return {
        "photo": [
            {"file_id": each, "file_unique_id": f"u-{each}", "width": width, "height": width, "file_size": size}
            for each, width in sizes
        ]
    }


def document(file_id: str, name: str, mime_type: str, size: int) -> Json:
    return {
        "document": {
            "file_id": file_id,
            "file_unique_id": f"u-{file_id}",
            "file_name": name,
            "mime_type": mime_type,
            "file_size": size,
        }
    }


def voice(file_id: str, size: int = 10) -> Json:
    return {
        "voice": {
            "file_id": file_id,
            "file_unique_id": f"u-{file_id}",
            "duration": 3,
            "mime_type": "audio/ogg",
            "file_size": size,
        }
    }
