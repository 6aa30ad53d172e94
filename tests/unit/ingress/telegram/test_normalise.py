"""Updates become messages in the form that all channels share."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.channels.telegram.client import Me
from ingress.channels.telegram.normalise import Received, chat_of, group_of, normalise
from tests.support.fake_telegram_updates import (
    BOB,
    STARTED_AT,
    Chat,
    Draft,
    Person,
    document,
    group,
    mention,
    photo,
    voice,
)

ME = Me(4242, "claw_bot")
BOT = Person(4242, "Claw", "claw_bot", is_bot=True)
TEAM = group()


def update(draft: Draft, *, kind: str = "message", number: int = 5) -> dict[str, Any]:
    return {"update_id": 1, kind: draft.json(number)}


def read(*updates: dict[str, Any]) -> Received:
    found = normalise(updates, ME, account_id="default", capabilities=("threads",))
    assert found is not None
    return found


def nothing(*updates: dict[str, Any]) -> bool:
    return normalise(updates, ME, account_id="default", capabilities=()) is None


def test_a_direct_message() -> None:
    inbound = read(update(Draft(text="hello"))).inbound
    assert (inbound.chat, inbound.chat_id, inbound.sender_id) == ("dm", "1001", "1001")
    assert (inbound.text, inbound.sender_name, inbound.username) == ("hello", "Ada", "ada")
    assert (inbound.message_id, inbound.sent_at) == ("5", (STARTED_AT + 5) * 1000)
    assert inbound.route.address() == "telegram|default|1001|"


def test_a_message_in_a_group_is_the_groups() -> None:
    inbound = read(update(Draft(chat=TEAM, text="hello"))).inbound
    assert (inbound.chat, inbound.chat_id, inbound.chat_title) == ("group", str(TEAM.id), "Team")
    assert not inbound.mentions_bot
    assert not inbound.replies_to_bot


@pytest.mark.parametrize(
    ("text", "entities", "mentioned"),
    [
        ("@claw_bot hi", mention("@claw_bot hi", "claw_bot"), True),
        ("hi @CLAW_bot", mention("hi @CLAW_bot", "CLAW_bot"), True),
        ("😀 @claw_bot", mention("😀 @claw_bot", "claw_bot"), True),
        ("@other hi", mention("@other hi", "other"), False),
        ("@not_claw_bot", mention("@not_claw_bot", "not_claw_bot"), False),
        ("@claw_bot as plain text", [], False),
        ("/status@claw_bot", [{"type": "bot_command", "offset": 0, "length": 16}], True),
        ("Claw, hi", [{"type": "text_mention", "offset": 0, "length": 4, "user": BOT.json()}], True),
    ],
)
def test_a_mention_is_what_telegram_marks_as_one(text: str, entities: list[dict[str, Any]], mentioned: bool) -> None:
    assert read(update(Draft(chat=TEAM, text=text, entities=entities))).inbound.mentions_bot is mentioned


def test_a_reply_carries_what_it_replies_to() -> None:
    earlier = Draft(sender=BOB, chat=TEAM, text="the plan").json(3)
    inbound = read(update(Draft(chat=TEAM, text="why?", reply_to=earlier))).inbound
    assert inbound.reply is not None
    assert (inbound.reply.message_id, inbound.reply.sender_name, inbound.reply.text) == ("3", "Bob", "the plan")
    assert not inbound.replies_to_bot


def test_a_quotation_goes_before_the_whole_message() -> None:
    earlier = Draft(sender=BOT, text="one two three").json(3)
    inbound = read(update(Draft(text="why?", reply_to=earlier, quote="two"))).inbound
    assert inbound.reply is not None
    assert inbound.reply.text == "two"
    assert inbound.replies_to_bot


def test_a_forum_topic_is_a_place_of_its_own() -> None:
    forum = group(forum=True)
    first = {**Draft(chat=forum, topic=9).json(9), "forum_topic_created": {"name": "Plans", "icon_color": 1}}
    inbound = read(update(Draft(chat=forum, text="hi", topic=9, reply_to=first))).inbound
    assert (inbound.topic_id, inbound.topic_title, inbound.route.thread_id) == ("9", "Plans", "9")
    assert inbound.reply is None


def test_the_general_topic_is_the_group_itself() -> None:
    assert read(update(Draft(chat=group(forum=True), text="hi", topic=1))).inbound.topic_id == ""


def test_the_thread_of_a_reply_in_a_plain_group_is_no_topic() -> None:
    assert read(update(Draft(chat=TEAM, text="hi", extra={"message_thread_id": 77}))).inbound.topic_id == ""


def test_an_anonymous_administrator_is_no_person() -> None:
    sender = Person(1087968824, "Group", is_bot=True)
    said = Draft(sender=sender, chat=TEAM, text="hi", extra={"sender_chat": TEAM.json()})
    assert read(update(said)).inbound.sender_id == str(TEAM.id)


def test_files_stay_at_telegram_for_now() -> None:
    files = [
        Draft(text="look", extra=photo("p1", 500)),
        Draft(extra=document("d1", "../../etc/x.pdf", "application/pdf", 20)),
        Draft(extra=voice("v1")),
    ]
    media = [read(update(each)).media[0] for each in files]
    assert [(each.kind, each.file_id, each.name) for each in media] == [
        ("photo", "p1", "photo-5.jpg"),
        ("document", "d1", "../../etc/x.pdf"),
        ("voice", "v1", "voice-5.ogg"),
    ]
    assert read(update(files[0])).inbound.text == "look"


def test_an_album_is_one_message_with_the_id_of_its_first_part() -> None:
    parts = [
        update(Draft(extra={**photo("p1"), "media_group_id": "g"}), number=5),
        update(Draft(text="both", extra={**photo("p2"), "media_group_id": "g"}), number=6),
    ]
    found = read(*parts)
    assert (found.inbound.message_id, found.inbound.text, len(found.media)) == ("5", "both", 2)
    assert {group_of(each) for each in parts} == {"g"}


def test_each_edit_is_a_message_of_its_own() -> None:
    def edited(at: int) -> Received:
        return read(update(Draft(text="new", extra={"edit_date": at}), kind="edited_message"))

    assert edited(100).is_edit
    assert edited(100).inbound.message_id == edited(100).inbound.message_id != edited(101).inbound.message_id


def test_a_pressed_button_says_its_data_in_the_name_of_who_pressed_it() -> None:
    message = Draft(sender=BOT, chat=TEAM, text="Sure?").json(8)
    query = {"id": "q1", "from": BOB.json(), "message": message, "data": "/approve 1", "chat_instance": "1"}
    found = read({"update_id": 1, "callback_query": query})
    assert (found.button, found.inbound.text, found.inbound.sender_id) == ("q1", "/approve 1", "1002")
    assert (found.inbound.chat_id, found.inbound.replies_to_bot) == (str(TEAM.id), True)
    assert chat_of({"callback_query": query}) == str(TEAM.id)


@pytest.mark.parametrize(
    "said",
    [
        Draft(chat=TEAM, extra={"new_chat_members": [BOB.json()]}),
        Draft(chat=TEAM, extra={"migrate_to_chat_id": -100}),
        Draft(sender=Person(9, "Other", is_bot=True), chat=TEAM, text="I am a bot"),
        Draft(chat=Chat(-5, "channel", "News"), text="post"),
    ],
)
def test_what_nobody_said_is_nothing(said: Draft) -> None:
    assert nothing(update(said))


def test_what_is_said_without_words_is_described() -> None:
    sticker = {"file_id": "s", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1}
    place = {"latitude": 1.5, "longitude": 2.5}
    said = Draft(extra={"sticker": {**sticker, "is_animated": False, "is_video": False, "emoji": "👍"}})
    assert read(update(said)).inbound.text == "[sticker 👍]"
    assert read(update(Draft(extra={"location": place}))).inbound.text == "[location 1.5, 2.5]"


def test_an_update_of_an_unknown_kind_is_nothing() -> None:
    assert nothing({"update_id": 1, "something_new": {"chat": {"id": 5}}})
    assert chat_of({"update_id": 1, "something_new": {}}) == ""
