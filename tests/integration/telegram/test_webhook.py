"""Updates that Telegram sends by itself."""

from __future__ import annotations

import json

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import Draft
from tests.support.programs import program, say
from tests.support.redis_server import free_port
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually

SECRET = "a-secret-that-telegram-repeats"


def update(number: int, text: str) -> dict[str, object]:
    message = Draft(text=json.dumps(program(say(text)))).json(number)
    return {"update_id": number, "message": message}


def start(make_fleet: MakeFleet, telegram: FakeTelegram) -> tuple[TelegramFleet, int]:
    port = free_port()
    webhook = {"url": f"http://127.0.0.1:{port}", "secret": SECRET}
    fleet = make_fleet(channels={"telegram": {"webhook": webhook}})
    fleet.worker("main", wait=False)
    fleet.ingress(port=port)
    eventually(lambda: telegram.bot.webhook["url"], within=20)
    return fleet, port


def test_an_update_is_confirmed_when_it_is_stored_and_makes_one_turn(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet, port = start(make_fleet, telegram)
    assert telegram.bot.webhook["url"] == f"http://127.0.0.1:{port}/channels/telegram/default"
    assert telegram.push(update(7, "hello")) == 200
    assert telegram.push(update(7, "hello")) == 200
    assert fleet.replies() == ["hello"]
    assert telegram.push(update(7, "hello")) == 200
    assert telegram.push(update(8, "second")) == 200
    assert fleet.replies(count=2) == ["hello", "second"]
    assert len(fleet.turns()) == 2
    assert telegram.called("getUpdates") == []


def test_only_telegram_is_heard(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet, _ = start(make_fleet, telegram)
    assert telegram.push(update(7, "forged"), secret="guessed") == 401
    assert telegram.push(update(7, "forged"), secret="") == 401
    assert telegram.push({"no": "number"}) == 400
    assert fleet.stores.channels.received(BOT) == {}


def test_any_ingress_takes_an_update_and_one_handles_it(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet, _ = start(make_fleet, telegram)
    first = fleet.receiver()
    port = free_port()
    fleet.ingress(port=port)
    telegram.bot.webhook["url"] = f"http://127.0.0.1:{port}/channels/telegram/default"
    assert telegram.push(update(7, "through the other")) == 200
    assert fleet.replies() == ["through the other"]
    assert fleet.receiver() is first


def test_without_redis_telegram_is_asked_to_come_again(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet, _ = start(make_fleet, telegram)
    fleet.redis_server.kill()
    assert telegram.push(update(7, "later")) == 503
    fleet.redis_server.restart()
    eventually(lambda: telegram.push(update(7, "later")) == 200, within=20)
    assert fleet.replies(within=60) == ["later"]
