"""`ocw up` says where people find the bots."""

from __future__ import annotations

import json

import pytest

from openclaw_workers.cli.local.bots import bot_addresses
from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.ocw import Ocw, finish
from tests.support.programs import program, say
from tests.support.redis_server import free_port
from tests.support.waiting import eventually


@pytest.mark.timeout(120)
def test_up_prints_the_address_of_the_bot_which_answers(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(gateway={"port": free_port()})
    ocw = Ocw(fleet)
    up = finish(ocw.start("up", "--detach", "--no-flower", "--json"), within=90)
    try:
        assert up.code == 0, up.err
        assert up.json["bots"] == {"telegram": "https://t.me/claw_bot"}
        telegram.bot.say(json.dumps(program(say("hello"))))
        eventually(lambda: telegram.bot.texts(ADA.id) == ["hello"], within=30)
    finally:
        ocw("down", within=60)


def test_a_bot_that_was_not_reached_has_no_address(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    found = bot_addresses(fleet.settings, fleet.redis_server.url, wait_seconds=0)
    assert found == {"telegram": None}
