"""The ingress is killed at every step between Telegram and the inbox: each update makes one turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ingress.channels.inbound import InboundIntake
from openclaw_workers.engine.access.gate import AccessGate
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.store.channels import Channels
from openclaw_workers.store.outbox import Outbox
from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.faulty_workers import place
from tests.support.programs import program, say
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually

STEPS: tuple[Callable[..., Any], ...] = (
    Channels.receive,
    AccessGate.admit,
    InboundIntake._take,
    Intake.accept,
    Channels.handled,
)


def answered(fleet: TelegramFleet, count: int) -> list[str]:
    """Wait until everything is answered, and look once more after one more message went all the way."""
    fleet.telegram.bot.say(json.dumps(program(say("last"))))
    return fleet.replies(ADA.id, count=count + 1, within=60)


@pytest.mark.parametrize("when", ["", ":after"])
def test_a_killed_ingress_loses_and_doubles_nothing(make_fleet: MakeFleet, telegram: FakeTelegram, when: str) -> None:
    fleet = make_fleet()
    fleet.worker("main")
    for number, step in enumerate(STEPS):
        telegram.bot.say(json.dumps(program(say(f"answer {number}"))))
        fleet.dying_ingress(f"{place(step)}:1{when}").wait(60)
    fleet.ingress()
    texts = answered(fleet, len(STEPS))
    assert texts == [*(f"answer {number}" for number in range(len(STEPS))), "last"]
    assert len(fleet.turns()) == len(STEPS) + 1
    assert fleet.stores.channels.received(BOT) == {}
    assert fleet.stores.channels.refused(BOT) == []


@pytest.mark.parametrize("when", ["", ":after"])
def test_a_command_takes_effect_once_and_is_answered_once(
    make_fleet: MakeFleet, telegram: FakeTelegram, when: str
) -> None:
    """The answer is in the outbox before the update counts as handled."""
    fleet = make_fleet()
    fleet.worker("main")
    telegram.bot.say("/think high")
    fleet.dying_ingress(f"{place(Outbox.put)}:1{when}").wait(60)
    fleet.ingress()
    texts = answered(fleet, 1)
    assert len(texts) == 2
    assert texts[-1] == "last"


def test_updates_survive_an_outage_of_redis(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    eventually(lambda: telegram.called("getUpdates"), within=20)
    fleet.redis_server.kill()
    telegram.bot.say(json.dumps(program(say("after the outage"))))
    eventually(lambda: "telegram.not_stored" in fleet.ingresses[0].log_text(), within=20)
    assert telegram.bot.updates, "Telegram must keep it as long as Redis does not have it"
    fleet.redis_server.restart()
    assert fleet.replies(within=60) == ["after the outage"]
    assert len(fleet.turns()) == 1
