"""`ocw channels`: who receives, what goes wrong, and whether a bot works."""

from __future__ import annotations

import json

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import TOKEN, FakeTelegram, Refuse
from tests.support.fake_telegram_updates import ADA, EVE, group, mention
from tests.support.ocw import Ocw
from tests.support.programs import program, say
from tests.support.telegram_fleet import TelegramFleet
from tests.support.waiting import eventually


def test_the_receiver_and_those_who_were_not_heard_are_shown(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    ocw = Ocw(fleet)
    said = "@claw_bot hi"
    telegram.bot.say(said, EVE, chat=group(7), entities=mention(said, "claw_bot"))
    telegram.bot.say(json.dumps(program(say("hello"))))
    fleet.replies()
    (account,) = ocw("channels", "list", "--json").json["channels"]
    assert account["receiver"].split("/")[1] == str(fleet.ingresses[0].pid)
    assert (account["botName"], account["address"]) == ("claw_bot", "https://t.me/claw_bot")
    assert account["lastUpdateAt"] >= account["lastPollAt"] - 60_000
    shown = ocw("channels", "list").out
    assert "receiving" in shown
    assert "@claw_bot" in shown

    status = ocw("channels", "status", "telegram", "--json").json
    (refused,) = status["refused"]
    assert (refused["name"], refused["kind"]) == ("Team", "group")
    assert refused["command"] == f"ocw pairing approve telegram:group:{group(7).id}"
    text = ocw("channels", "status").out
    assert f"telegram:group:{group(7).id}" in text
    assert TOKEN not in text


def test_an_account_nobody_receives_for_is_said_to_be_so(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    ocw = Ocw(fleet)
    (account,) = ocw("channels", "list", "--json").json["channels"]
    assert (account["receiver"], account["hasToken"], account["enabled"]) == (None, True, True)
    assert "nobody receives" in ocw("channels", "list").out
    unknown = ocw("channels", "status", "telegram/none")
    assert unknown.code == 5
    assert "telegram" in unknown.err


def test_a_bot_is_tested_with_a_message_that_goes_all_the_way(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    ocw = Ocw(fleet)
    answer = ocw("channels", "test", "telegram", "--to", str(ADA.id), "--json").json
    (sent,) = telegram.bot.visible(ADA.id)
    assert answer["sent"] == str(sent.id)
    assert answer["botId"] == telegram.bot.me.id


def test_a_wrong_token_is_named(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    wrong = "4242:not-the-token-of-any-bot"
    fleet = make_fleet(channels={"telegram": {"botToken": wrong}})
    done = Ocw(fleet)("channels", "test")
    assert done.code == 2
    assert "does not know this token" in done.err
    assert wrong not in done.err
    telegram.always("getUpdates", Refuse(401, "Unauthorized"))
    ingress = fleet.ingress()
    eventually(lambda: "telegram.not_started" in ingress.log_text(), within=20)
    assert wrong not in ingress.log_text()
    eventually(
        lambda: "token" in str(Ocw(fleet)("channels", "list", "--json").json["channels"][0]["lastError"]), within=10
    )
