"""A command that waits for an owner is asked for in the chat, with buttons that only owners can use."""

from __future__ import annotations

import json

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA, EVE
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually


def test_an_owner_allows_a_command_with_a_button(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(tools={"exec": {"security": "allowlist"}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    fleet.ready(*fleet.workers)
    telegram.bot.say(json.dumps(program(call(execute("echo run >> ran")), say("finished"))))
    asked = eventually(lambda: [each for each in telegram.bot.sent if each.buttons], within=60)[0]
    (question,) = fleet.stores.questions.open()
    data = [button["callback_data"] for row in asked.buttons for button in row]
    assert "echo run >> ran" in asked.text
    assert data == [f"/approve {question.id} once", f"/approve {question.id} for", f"/deny {question.id}"]

    telegram.bot.press(asked, EVE, data[0])
    telegram.bot.press(asked, ADA, data[0])

    eventually(lambda: "finished" in telegram.bot.texts(ADA.id), within=60)
    assert fleet.count("ran") == 1
