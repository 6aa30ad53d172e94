"""One bot of the fake Bot API: its updates, its chats and what each method does to them, as Telegram answers it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.fake_telegram_updates import ADA, STARTED_AT, Chat, Draft, Json, Person, StoredFile

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_UPDATES = 100


class ApiError(Exception):
    """An answer with ok: false."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


@dataclass(slots=True)
class Sent:
    """A message of the bot, as people see it."""

    id: int
    chat: int
    text: str
    topic: int = 0
    entities: list[Json] = field(default_factory=list)
    reply_to: int = 0
    buttons: list[list[Json]] = field(default_factory=list)
    file: tuple[str, bytes] | None = None
    edits: list[str] = field(default_factory=list)
    is_deleted: bool = False


class FakeBot:
    """All methods hold `lock`; `changed` is notified when there is something new for a waiting getUpdates."""

    def __init__(self, token: str, *, username: str = "claw_bot") -> None:
        self.token = token
        self.me = Person(int(token.partition(":")[0]), "Claw", username, is_bot=True)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.updates: dict[int, Json] = {}
        """Those that no getUpdates has confirmed, by update id."""
        self.confirmed: list[int] = []
        self.sent: list[Sent] = []
        self.files: dict[str, StoredFile] = {}
        self.commands: list[Json] = []
        self.webhook: Json = {"url": ""}
        self.actions: list[tuple[int, int]] = []
        """Chat and topic of each sendChatAction."""
        self.drafts: list[tuple[int, str]] = []
        self.topics: list[tuple[int, int, str]] = []
        self.reactions: dict[tuple[int, int], list[str]] = {}
        self.answered_buttons: list[str] = []
        self.blocked: set[int] = set()
        """Chats that refuse the bot."""
        self.moved: dict[int, int] = {}
        """Groups that became supergroups: old id to new id."""
        self.poller = 0
        """Counts the calls of getUpdates: a newer one ends an older one with 409."""
        self._next_update = 500
        self._next_message = 100

    # What people do

    def say(self, text: str = "", sender: Person = ADA, **more: Any) -> Json:
        """A person writes; returns the message."""
        draft = Draft(text=text, sender=sender, **more)
        with self.lock:
            self._next_message += 1
            message = draft.json(self._next_message)
        self.deliver({"message": message})
        return message

    def edit(self, message: Json, text: str) -> None:
        self.deliver({"edited_message": {**message, "text": text, "edit_date": STARTED_AT + 5000}})

    def press(self, sent: Sent, sender: Person, data: str, chat: Chat | None = None) -> None:
        """A person presses a button."""
        place = (chat or Chat(sender.id)).json()
        message = {"message_id": sent.id, "date": STARTED_AT, "chat": place, "text": sent.text, "from": self.me.json()}
        query = {"id": f"q{sent.id}-{data}", "from": sender.json(), "message": message, "data": data}
        self.deliver({"callback_query": {**query, "chat_instance": "1"}})

    def deliver(self, update: Json) -> int:
        with self.changed:
            self._next_update += 1
            number = self._next_update
            self.updates[number] = {"update_id": number, **update}
            self.changed.notify_all()
        return number

    def redeliver(self, *updates: Json) -> None:
        """Offer updates again that were confirmed, as Telegram does after an outage."""
        with self.changed:
            for update in updates:
                self.updates[update["update_id"]] = update
            self.changed.notify_all()

    def visible(self, chat: int | None = None) -> list[Sent]:
        with self.lock:
            return [each for each in self.sent if not each.is_deleted and chat in (None, each.chat)]

    def texts(self, chat: int | None = None) -> list[str]:
        return [each.text for each in self.visible(chat)]

    # What the bot asks for

    def answer(self, method: str, params: Json, uploads: dict[str, tuple[str, bytes]]) -> Any:
        """Raises ApiError where Telegram would answer ok: false."""
        methods: dict[str, Callable[[Json], Any]] = {
            "getMe": lambda _: {**self.me.json(), "can_join_groups": True, "has_topics_enabled": False},
            "getUpdates": self._get_updates,
            "setWebhook": self._set_webhook,
            "deleteWebhook": lambda _: self._set_webhook({"url": ""}),
            "getWebhookInfo": lambda _: {
                "has_custom_certificate": False,
                "pending_update_count": len(self.updates),
                "url": self.webhook["url"],
            },
            "sendMessage": self._send_message,
            "sendRichMessage": lambda given: self._send_message({**given, "text": given["rich_message"]["markdown"]}),
            "sendMessageDraft": self._send_draft,
            "editMessageText": self._edit_text,
            "deleteMessage": self._delete,
            "sendDocument": lambda given: self._send_file(given, uploads["document"]),
            "sendPhoto": lambda given: self._send_file(given, uploads["photo"]),
            "sendChatAction": self._act,
            "setMessageReaction": self._react,
            "answerCallbackQuery": self._answer_button,
            "createForumTopic": self._create_topic,
            "setMyCommands": self._set_commands,
            "getFile": self._get_file,
        }
        if method not in methods:
            raise ApiError(404, "Not Found")
        if method == "getUpdates":
            return self._get_updates(params)
        with self.lock:
            return methods[method](params)

    def _get_updates(self, params: Json) -> list[Json]:
        offset, limit = int(params.get("offset") or 0), int(params.get("limit") or MAX_UPDATES)
        deadline = time.monotonic() + float(params.get("timeout") or 0)
        with self.changed:
            if self.webhook["url"]:
                raise ApiError(409, "Conflict: can't use getUpdates method while webhook is active; delete it first")
            self.poller += 1
            mine = self.poller
            self.changed.notify_all()
            for number in [each for each in self.updates if each < offset]:
                self.confirmed.append(number)
                del self.updates[number]
            while not self.updates and time.monotonic() < deadline and self.poller == mine:
                self.changed.wait(min(0.5, max(0.0, deadline - time.monotonic())))
            if self.poller != mine:
                raise ApiError(409, "Conflict: terminated by other getUpdates request; make sure that only one runs")
            return [self.updates[number] for number in sorted(self.updates)[: min(limit, MAX_UPDATES)]]

    def _set_webhook(self, params: Json) -> bool:
        self.webhook = {"url": params.get("url", ""), "secret_token": params.get("secret_token", "")}
        return True

    def _place(self, params: Json) -> tuple[int, int]:
        chat, topic = int(params["chat_id"]), int(params.get("message_thread_id") or 0)
        if chat in self.moved:
            raise ApiError(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=self.moved[chat])
        if chat in self.blocked:
            raise ApiError(403, "Forbidden: bot was blocked by the user")
        if topic == 1 or (topic and chat > 0):
            raise ApiError(400, "Bad Request: message thread not found")
        return chat, topic

    def _send_message(self, params: Json) -> Json:
        chat, topic = self._place(params)
        text, entities = params.get("text", ""), params.get("entities") or []
        check_text(text, entities, MAX_TEXT)
        return self._show(Sent(self._number(), chat, text, topic, entities), params)

    def _send_file(self, params: Json, upload: tuple[str, bytes]) -> Json:
        chat, topic = self._place(params)
        caption, entities = params.get("caption", ""), params.get("caption_entities") or []
        if caption:
            check_text(caption, entities, MAX_CAPTION)
        return self._show(Sent(self._number(), chat, caption, topic, entities, file=upload), params)

    def _show(self, sent: Sent, params: Json) -> Json:
        reply = params.get("reply_parameters") or {}
        sent.reply_to = int(reply.get("message_id") or 0)
        if "deleted" in str(reply.get("quote", "")) and not reply.get("allow_sending_without_reply"):
            raise ApiError(400, "Bad Request: message to be replied not found")
        sent.buttons = (params.get("reply_markup") or {}).get("inline_keyboard", [])
        check_buttons(sent.buttons)
        self.sent.append(sent)
        return self._message(sent)

    def _message(self, sent: Sent) -> Json:
        chat = Chat(sent.chat) if sent.chat > 0 else Chat(sent.chat, "supergroup", "Team")
        body = {"message_id": sent.id, "date": STARTED_AT + sent.id, "chat": chat.json(), "from": self.me.json()}
        return {**body, "text": sent.text, "entities": sent.entities}

    def _number(self) -> int:
        self._next_message += 1
        return self._next_message

    def _find(self, params: Json) -> Sent:
        chat, number = int(params["chat_id"]), int(params["message_id"])
        for each in self.sent:
            if (each.chat, each.id) == (chat, number) and not each.is_deleted:
                return each
        raise ApiError(400, "Bad Request: message to edit not found")

    def _edit_text(self, params: Json) -> Json:
        found = self._find(params)
        entities = params.get("entities") or []
        check_text(params["text"], entities, MAX_TEXT)
        if (params["text"], entities) == (found.text, found.entities):
            raise ApiError(400, "Bad Request: message is not modified: specified new message content is the same")
        found.edits.append(params["text"])
        found.text, found.entities = params["text"], entities
        return self._message(found)

    def _delete(self, params: Json) -> bool:
        self._find(params).is_deleted = True
        return True

    def _send_draft(self, params: Json) -> bool:
        chat, _ = self._place(params)
        if chat < 0:
            raise ApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        self.drafts.append((chat, params["text"]))
        return True

    def _act(self, params: Json) -> bool:
        chat = int(params["chat_id"])
        if chat in self.blocked:
            raise ApiError(403, "Forbidden: bot was blocked by the user")
        self.actions.append((chat, int(params.get("message_thread_id") or 0)))
        return True

    def _react(self, params: Json) -> bool:
        key = int(params["chat_id"]), int(params["message_id"])
        self.reactions[key] = [each["emoji"] for each in params.get("reaction") or []]
        return True

    def _answer_button(self, params: Json) -> bool:
        self.answered_buttons.append(params["callback_query_id"])
        return True

    def _create_topic(self, params: Json) -> Json:
        chat, _ = self._place(params)
        if chat > 0:
            raise ApiError(400, "Bad Request: the chat is not a forum")
        thread = 1000 + len(self.topics)
        self.topics.append((chat, thread, params["name"]))
        return {"message_thread_id": thread, "name": params["name"], "icon_color": 7322096}

    def _set_commands(self, params: Json) -> bool:
        self.commands = params["commands"]
        return True

    def _get_file(self, params: Json) -> Json:
        file = self.files.get(params["file_id"])
        if file is None:
            raise ApiError(400, "Bad Request: invalid file_id")
        size = len(file.content) if file.size is None else file.size
        if size > 20 << 20:
            raise ApiError(400, "Bad Request: file is too big")
        return {"file_id": params["file_id"], "file_unique_id": "u", "file_size": size, "file_path": file.path}


def check_text(text: str, entities: list[Json], limit: int) -> None:
    """Refuse what Telegram refuses: empty or long texts, and entities that do not fit the text or cross each other."""
    units = len(text.encode("utf-16-le")) // 2
    if not text.strip():
        raise ApiError(400, "Bad Request: message text is empty")
    if units > limit:
        raise ApiError(400, "Bad Request: message is too long")
    spans: list[tuple[int, int]] = []
    for each in entities:
        start, end = each["offset"], each["offset"] + each["length"]
        if each["length"] <= 0 or start < 0 or end > units:
            raise ApiError(400, f"Bad Request: entity {json.dumps(each)} lies outside of the text")
        for other_start, other_end in spans:
            if start < other_start < end < other_end or other_start < start < other_end < end:
                raise ApiError(400, "Bad Request: entities cross")
        spans.append((start, end))


def check_buttons(rows: list[list[Json]]) -> None:
    for button in (each for row in rows for each in row):
        if len(button.get("callback_data", "").encode()) > 64:
            raise ApiError(400, "Bad Request: BUTTON_DATA_INVALID")
