"""From an update of Telegram to a message in the form that all channels share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from telegram import Chat, Message, MessageEntity, Update, User

from ingress.channels.telegram.client import Me
from openclaw_workers.domain.inbound import ChatKind, Inbound, ReplyContext

CHANNEL = "telegram"
GENERAL_TOPIC = 1
"""Telegram's own number for the topic that every forum has. It must not be named when sending there."""


@dataclass(frozen=True, slots=True)
class Media:
    """A file of a message, still at Telegram."""

    kind: str
    file_id: str
    name: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it arrived."""

    inbound: Inbound
    media: tuple[Media, ...] = ()
    is_edit: bool = False
    button: str = ""
    """The id of a pressed button, which waits for an answer."""


def chat_of(update: dict[str, Any]) -> str:
    """The chat that an update belongs to; updates of one chat are handled in their order."""
    for kind in ("message", "edited_message", "my_chat_member"):
        if kind in update:
            return _chat_id(update[kind])
    query = update.get("callback_query")
    return _chat_id(query.get("message")) if isinstance(query, dict) else ""


def group_of(update: dict[str, Any]) -> str:
    """The id that the parts of an album share; empty for a message that stands alone."""
    message = update.get("message")
    return str(message.get("media_group_id") or "") if isinstance(message, dict) else ""


def normalise(
    updates: Sequence[dict[str, Any]], me: Me, *, account_id: str, capabilities: tuple[str, ...]
) -> Received | None:
    """The message that updates carry; None if there is nothing for an agent in them.

    Several updates are the parts of one album: its text is that of the part that has one.

    Raises:
        Exception: an update is not in the form that Telegram documents.
    """
    parsed = [Update.de_json(each, None) for each in updates]
    query = parsed[0].callback_query
    if query is not None:
        return _pressed(query, me, account_id, capabilities)
    messages = [each.message or each.edited_message for each in parsed]
    found = [message for message in messages if message is not None]
    if not found or not _is_of_person(found[0]):
        return None
    media = tuple(each for message in found for each in _media(message))
    # In an album only one part has the caption, and not always the first.
    spoken = next((message for message in found if message.caption), found[0])
    words = "\n".join(filter(None, [spoken.text or spoken.caption or "", *_described(found[0])]))
    if not words and not media:
        return None
    inbound = _inbound(spoken, me, account_id, capabilities)
    inbound = inbound.model_copy(update={"text": words, "message_id": str(found[0].message_id)})
    edit = parsed[0].edited_message
    if edit is not None and edit.edit_date is not None:
        # The same message may be edited several times, and each is a message of its own.
        stamp = f"{edit.message_id}-edit-{int(edit.edit_date.timestamp())}"
        return Received(inbound.model_copy(update={"message_id": stamp}), media, is_edit=True)
    return Received(inbound, media)


def _pressed(query: Any, me: Me, account_id: str, capabilities: tuple[str, ...]) -> Received | None:
    """A pressed button says its data, in the name of whoever pressed it."""
    message = query.message
    if not isinstance(message, Message) or not query.data:
        return None  # the message is too old for Telegram to show it
    inbound = _inbound(message, me, account_id, capabilities)
    who = _sender(query.from_user, None)
    # The message is the bot's own, with the text above the buttons. Only place and topic of it count.
    changes = {**who, "text": query.data, "message_id": f"button-{query.id}", "replies_to_bot": True, "reply": None}
    return Received(inbound.model_copy(update=changes), button=query.id)


def _inbound(message: Message, me: Me, account_id: str, capabilities: tuple[str, ...]) -> Inbound:
    chat, replied = message.chat, _replied(message)
    answered = replied.from_user if replied is not None else None
    who = _sender(message.from_user, message.sender_chat)
    return Inbound(
        channel=CHANNEL,
        account_id=account_id,
        chat=_kind(chat),
        chat_id=str(chat.id),
        chat_title=chat.title or "",
        topic_id=_topic(message),
        topic_title=_topic_title(message),
        message_id=str(message.message_id),
        sent_at=int(message.date.timestamp() * 1000),
        reply=_reply(message, replied),
        mentions_bot=_mentions(message, me),
        replies_to_bot=answered is not None and answered.id == me.id,
        bot_name=me.username,
        capabilities=capabilities,
        **who,
    )


def _is_of_person(message: Message) -> bool:
    """Whether somebody said something: not another bot, and no note of Telegram's about the chat."""
    by_bot = message.from_user is not None and message.from_user.is_bot and message.sender_chat is None
    return not by_bot and message.chat.type != Chat.CHANNEL


def _sender(user: User | None, chat: Chat | None) -> dict[str, str]:
    """Who wrote. An anonymous administrator writes in the name of a chat, which is nobody in particular."""
    if chat is not None:
        return {"sender_id": str(chat.id), "sender_name": chat.title or "", "username": chat.username or ""}
    if user is None:
        return {"sender_id": "", "sender_name": "", "username": ""}
    return {"sender_id": str(user.id), "sender_name": user.full_name, "username": user.username or ""}


def _kind(chat: Chat) -> ChatKind:
    return "dm" if chat.type == Chat.PRIVATE else "group"


def _topic(message: Message) -> str:
    """The forum topic. Groups that are no forums number the threads of replies, which are no topics."""
    topic = message.message_thread_id if message.is_topic_message else None
    return str(topic) if topic and topic != GENERAL_TOPIC else ""


def _topic_title(message: Message) -> str:
    """Telegram names a topic only in the message that created it, which the others in it reply to."""
    first = message.reply_to_message
    created = first.forum_topic_created if first is not None and message.is_topic_message else None
    return created.name if created is not None else ""


def _replied(message: Message) -> Message | None:
    """The message that this one replies to. In a topic, all others reply to the one that created it."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _reply(message: Message, replied: Message | None) -> ReplyContext | None:
    quote = message.quote.text if message.quote else ""
    if replied is not None:
        words = quote or replied.text or replied.caption or " ".join(_described(replied)) or _file_words(replied)
        name = _sender(replied.from_user, replied.sender_chat)["sender_name"]
        return ReplyContext(message_id=str(replied.message_id), sender_name=name, text=words)
    if message.external_reply is not None:
        origin = message.external_reply.origin
        user = getattr(origin, "sender_user", None)
        name = user.full_name if user is not None else getattr(origin, "sender_user_name", "") or ""
        return ReplyContext(sender_name=name, text=quote)
    return ReplyContext(text=quote) if quote else None


def _mentions(message: Message, me: Me) -> bool:
    names: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION, MessageEntity.BOT_COMMAND]
    found = {**message.parse_entities(names), **message.parse_caption_entities(names)}
    own = f"@{me.username}".lower()
    for entity, text in found.items():
        if entity.type == MessageEntity.TEXT_MENTION:
            if entity.user is not None and entity.user.id == me.id:
                return True
        # A command in a group names the bot at its end: `/stop@name`.
        elif text.lower().endswith(own):
            return True
    return False


def _media(message: Message) -> Iterator[Media]:
    number = message.message_id
    if message.photo:
        largest = max(message.photo, key=lambda each: each.width * each.height)
        yield Media("photo", largest.file_id, f"photo-{number}.jpg", largest.file_size or 0)
    named: list[tuple[str, Any, str]] = [
        ("document", message.document, "bin"),
        ("video", message.video, "mp4"),
        ("audio", message.audio, "mp3"),
        ("voice", message.voice, "ogg"),
        ("video", message.video_note, "mp4"),
    ]
    for kind, file, ending in named:
        if file is not None:
            name = getattr(file, "file_name", None) or f"{kind}-{number}.{ending}"
            yield Media(kind, file.file_id, name, file.file_size or 0)


def _file_words(message: Message) -> str:
    return " ".join(f"[{each.kind} {each.name}]" for each in _media(message))


def _described(message: Message) -> list[str]:
    """What a message says without words."""
    words = []
    if message.sticker is not None:
        words.append(f"[sticker {message.sticker.emoji or ''}]".replace(" ]", "]"))
    if message.location is not None:
        words.append(f"[location {message.location.latitude}, {message.location.longitude}]")
    if message.contact is not None:
        name = f"{message.contact.first_name} {message.contact.last_name or ''}".strip()
        words.append(f"[contact {name} {message.contact.phone_number}]")
    if message.poll is not None:
        options = " / ".join(option.text for option in message.poll.options)
        words.append(f"[poll {message.poll.question}: {options}]")
    return words


def _chat_id(holder: Any) -> str:
    chat = holder.get("chat") if isinstance(holder, dict) else None
    return str(chat.get("id", "")) if isinstance(chat, dict) else ""
