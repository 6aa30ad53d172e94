"""A sub-agent that stays gets a forum topic; what it says waits until the topic exists."""

from __future__ import annotations

import json

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import Cut, FakeTelegram, Refuse
from tests.support.fake_telegram_updates import ADA, group
from tests.support.programs import program, say, spawn
from tests.support.telegram_fleet import TelegramFleet
from tests.support.waiting import eventually

FORUM = group(8, "Forum", forum=True)


def start(make_fleet: MakeFleet) -> TelegramFleet:
    fleet = make_fleet(channels={"telegram": {"groups": {str(FORUM.id): {"requireMention": False}}}})
    fleet.worker("main", wait=False)
    fleet.worker("subagent", wait=False)
    fleet.worker("service", wait=False)
    fleet.ingress()
    fleet.ready(*fleet.workers)
    return fleet


def bound(fleet: TelegramFleet) -> bool:
    """Whether the child has the topic that it waited for."""
    threads = fleet.stores.redis.hkeys(fleet.stores.keys.threads)
    return any(str(each).rpartition("|")[2].isdecimal() for each in threads)


def spawn_helper(telegram: FakeTelegram) -> None:
    child = program(say("child is ready"))
    step = spawn(child, mode="session", thread=True, label="Helper")
    telegram.bot.say(json.dumps(program(step, say("spawned"))), ADA, chat=FORUM)


def test_the_child_speaks_and_listens_in_its_own_topic(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet)
    spawn_helper(telegram)
    eventually(lambda: bound(fleet), within=30)
    ((chat, thread, name),) = telegram.bot.topics
    assert (chat, name) == (FORUM.id, "Helper")
    telegram.bot.say(json.dumps(program(say("I am the child"))), ADA, chat=FORUM, topic=thread)
    eventually(lambda: "I am the child" in telegram.bot.texts(), within=30)
    sent = next(each for each in telegram.bot.sent if each.text == "I am the child")
    assert (sent.chat, sent.topic) == (FORUM.id, thread)
    (child,) = [run for run in fleet.turns() if run.text == "I am the child"]
    assert ":subagent:" in child.session_key
    assert all(each.topic == 0 for each in telegram.bot.sent if each.text == "spawned")


def test_without_a_topic_the_child_answers_in_the_chat_which_says_so(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = start(make_fleet)
    telegram.always("createForumTopic", Refuse(400, "Bad Request: not enough rights to create a topic"))
    spawn_helper(telegram)
    eventually(lambda: any("No topic could be created for Helper" in text for text in telegram.bot.texts()), within=30)
    (child,) = [run.session_key for run in fleet.runs() if ":subagent:" in run.session_key]
    row = fleet.stores.reader.row(child)
    assert row.get("lastThreadId", "") == ""
    assert row["lastTo"] == str(FORUM.id)
    assert len(telegram.called("createForumTopic")) == 1


def test_a_topic_that_may_exist_is_created_once_more(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet)
    telegram.script("createForumTopic", Cut(after=True))
    spawn_helper(telegram)
    eventually(lambda: len(telegram.bot.topics) == 2 and bound(fleet), within=30)
    thread = telegram.bot.topics[1][1]
    telegram.bot.say(json.dumps(program(say("still here"))), ADA, chat=FORUM, topic=thread)
    eventually(lambda: "still here" in telegram.bot.texts(), within=30)
    assert any(":subagent:" in run.session_key for run in fleet.turns() if run.text == "still here")
