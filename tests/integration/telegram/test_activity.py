"""While a turn runs, its chat shows that: typing, and a message that is edited and goes away."""

from __future__ import annotations

import json

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.ocw import Gate
from tests.support.programs import call, execute, program, say, spawn
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually


def start(make_fleet: MakeFleet, **telegram: object) -> TelegramFleet:
    fleet = make_fleet(channels={"telegram": telegram})
    fleet.worker("main", wait=False)
    fleet.ingress()
    fleet.ready(*fleet.workers)
    return fleet


def test_a_running_turn_is_seen_and_its_answer_is_a_message_of_its_own(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = start(make_fleet)
    first, second = Gate(fleet, "first"), Gate(fleet, "second")
    telegram.bot.say(json.dumps(program(first.step, second.step, say("done"))))
    eventually(lambda: (ADA.id, 0) in telegram.bot.actions, within=20)
    (shown,) = eventually(telegram.bot.visible, within=20)
    assert shown.text.startswith("⏳ exec while [ ! -e gate-first ]")
    first.open()
    eventually(lambda: shown.edits, within=20)
    assert shown.text.startswith("✅ exec while [ ! -e gate-first ]")
    second.open()
    eventually(lambda: telegram.bot.texts() == ["done"], within=20)
    eventually(lambda: fleet.stores.channels.progress(BOT) == {}, within=10)
    assert [sent.text for sent in telegram.bot.sent if not sent.is_deleted] == ["done"]


def test_a_short_turn_has_no_progress_message(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet)
    telegram.bot.say(json.dumps(program(call(execute("true")), say("done"))))
    assert fleet.replies() == ["done"]
    assert len(telegram.bot.sent) == 1


def test_progress_that_a_killed_ingress_left_behind_is_removed(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet)
    gate = Gate(fleet, "first")
    telegram.bot.say(json.dumps(program(gate.step, say("done"))))
    eventually(lambda: fleet.stores.channels.progress(BOT), within=20)
    fleet.ingresses[0].kill()
    gate.open()
    fleet.ingress()
    eventually(lambda: telegram.bot.texts() == ["done"], within=30)


def test_no_progress_is_shown_where_it_is_switched_off(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet, streaming="off")
    gate = Gate(fleet, "first")
    telegram.bot.say(json.dumps(program(gate.step, say("done"))))
    eventually(lambda: len(telegram.bot.actions) > 1, within=20)
    gate.open()
    assert fleet.replies() == ["done"]
    assert len(telegram.bot.sent) == 1


def test_a_draft_grows_with_the_answer(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet, streaming="draft")
    slow = {"text": "one two three four", "chunks": 4, "chunkDelayMs": 700}
    telegram.bot.say(json.dumps(program(slow)))
    assert fleet.replies() == ["one two three four"]
    texts = [text for _, text in telegram.bot.drafts]
    assert texts
    assert all("one two three four".startswith(text) for text in texts)


def test_a_session_that_may_not_send_shows_nothing(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = start(make_fleet)
    telegram.bot.say(json.dumps(program(say("first"))))
    fleet.replies()
    telegram.bot.say("/send off")
    fleet.replies(count=2)
    actions = len(telegram.bot.actions)
    gate = Gate(fleet, "first")
    telegram.bot.say(json.dumps(program(gate.step, say("silent"))))
    fleet.carrier("agent:main:telegram:dm:1001")
    gate.open()
    eventually(lambda: len(fleet.turns()) == 2, within=20)
    telegram.bot.say("/status")
    fleet.replies(count=3)
    assert "silent" not in telegram.bot.texts()
    assert len(telegram.bot.actions) == actions


def test_sub_agents_are_shown_until_the_last_one_has_ended(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet()
    for lane in ("main", "subagent", "service"):
        fleet.worker(lane, wait=False)
    fleet.ingress()
    fleet.ready(*fleet.workers)
    gate = Gate(fleet, "child")
    task = program(gate.step, say("found"))
    telegram.bot.say(json.dumps(program(spawn(task, label="Search"), say("asked"), say("heard"))))
    eventually(lambda: "⏳ Search" in "".join(telegram.bot.texts()), within=20)
    assert "asked" in telegram.bot.texts()
    gate.open()
    eventually(lambda: telegram.bot.texts() == ["asked", "heard"], within=30)
