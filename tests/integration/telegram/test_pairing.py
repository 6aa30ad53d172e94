"""A person whom the bot does not know is paired, and only then heard."""

from __future__ import annotations

import json
import re

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import BOB, EVE, StoredFile, photo
from tests.support.ocw import Ocw
from tests.support.programs import program, say

HELLO = json.dumps(program(say("hello")))


def test_a_stranger_is_paired_and_then_heard(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet()
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.files["p1"] = StoredFile(b"\x89PNG", "photos/1.jpg")
    telegram.bot.say(HELLO, BOB, extra=photo("p1"))
    (reported,) = fleet.replies(BOB.id)
    code = re.search(r"[A-HJ-NP-Z2-9]{8}", reported)
    assert code is not None
    assert fleet.turns() == []
    assert telegram.called("getFile") == [], "nothing is loaded for a stranger"

    ocw = Ocw(fleet)
    assert code[0] in ocw("pairing", "list").out
    assert ocw("pairing", "approve", code[0]).code == 0
    telegram.bot.say(HELLO, BOB)
    assert fleet.replies(BOB.id, count=2)[1] == "hello"
    assert ocw("pairing", "revoke", "telegram:1002").code == 0
    telegram.bot.say(HELLO, BOB)
    assert fleet.replies(BOB.id, count=3)[2] != "hello"
    assert len(fleet.turns()) == 1


def test_with_an_allow_list_a_stranger_learns_nothing(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(channels={"telegram": {"dmPolicy": "allowlist", "allowFrom": [str(BOB.id)]}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.say(HELLO, EVE)
    telegram.bot.say(HELLO, BOB)
    assert fleet.replies(BOB.id) == ["hello"]
    assert telegram.bot.visible(EVE.id) == []
    assert {run.session_key for run in fleet.turns()} == {"agent:main:telegram:dm:1002"}
