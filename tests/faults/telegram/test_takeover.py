"""Two ingress processes on one bot: one receives, and if it dies or hangs the other takes over."""

from __future__ import annotations

import json
import threading
import time

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram, Refuse
from tests.support.programs import program, say
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually

TAKEOVER_SECONDS = 10


class Talk(threading.Thread):
    """Ada keeps writing, whatever happens to the ingress."""

    def __init__(self, telegram: FakeTelegram) -> None:
        super().__init__(daemon=True)
        self._telegram = telegram
        self._over = threading.Event()
        self.said = 0

    def run(self) -> None:
        while not self._over.wait(0.1):
            self._telegram.bot.say(json.dumps(program(say(f"answer {self.said}"))))
            self.said += 1

    def end(self) -> int:
        self._over.set()
        self.join()
        return self.said


def two_ingresses(make_fleet: MakeFleet) -> TelegramFleet:
    """With the default lease, so that the promised time is that of an installation."""
    fleet = make_fleet(engine={"leaseSeconds": 8.0})
    fleet.worker("main", wait=False)
    fleet.ingress()
    fleet.receiver()
    fleet.ingress()
    fleet.ready(*fleet.workers)
    return fleet


def test_another_ingress_takes_over_within_ten_seconds_and_nothing_is_lost_or_doubled(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = two_ingresses(make_fleet)
    talk = Talk(telegram)
    talk.start()
    eventually(lambda: len(telegram.bot.sent) > 5, within=30)
    first = fleet.receiver()
    assert ["telegram.receiving" in each.log_text() for each in fleet.ingresses] == [True, False], "one receives"
    first.kill()
    killed_at = time.monotonic()
    eventually(lambda: any(call.at > killed_at + 0.5 for call in telegram.called("getUpdates")), within=20)
    took = next(call.at for call in telegram.called("getUpdates") if call.at > killed_at + 0.5) - killed_at
    said = talk.end()
    assert took < TAKEOVER_SECONDS
    assert fleet.receiver() is not first

    def answers() -> list[str]:
        return [text for run in fleet.turns() if (text := run.text)]

    eventually(lambda: len(answers()) >= said, within=60)
    assert sorted(answers()) == sorted(f"answer {number}" for number in range(said))
    eventually(lambda: all(entry.state in ("sent", "unknown") for entry in fleet.outbox()), within=60)
    entries = fleet.outbox()
    assert len(entries) == said
    unknown = [entry.message.text for entry in entries if entry.state == "unknown"]
    assert len(unknown) <= 1, "only what the killed process was sending"
    shown = telegram.bot.texts()
    assert len(shown) == len(set(shown)), "nothing is sent twice"
    assert {*shown, *unknown} == {f"answer {number}" for number in range(said)}


def test_an_ingress_that_hangs_loses_the_bot_and_does_no_harm_when_it_wakes_up(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = make_fleet()
    fleet.worker("main", wait=False)
    fleet.ingress()
    first = fleet.receiver()
    fleet.ingress()
    first.pause()
    eventually(lambda: fleet.receiver() is not first, within=20)
    telegram.bot.say(json.dumps(program(say("one"))))
    assert fleet.replies() == ["one"]
    first.resume()
    eventually(lambda: "telegram.account_lost" in first.log_text(), within=20)
    telegram.bot.say(json.dumps(program(say("two"))))
    assert fleet.replies(count=2) == ["one", "two"]
    assert fleet.receiver() is not first
    assert len(fleet.turns()) == 2


def test_an_ingress_that_is_asked_to_leave_hands_over_at_once(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = two_ingresses(make_fleet)
    first = fleet.receiver()
    first.term()
    began = time.monotonic()
    first.wait(30)
    eventually(lambda: fleet.receiver() is not first, within=20)
    assert time.monotonic() - began < 5, "it does not wait for the lease to end"
    telegram.bot.say(json.dumps(program(say("hello"))))
    assert fleet.replies() == ["hello"]


def test_a_long_outage_of_telegram_ends_by_itself(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.always("getUpdates", Refuse(409, "Conflict: terminated by other getUpdates request"))
    telegram.bot.say("wakes the poll that waits")
    eventually(lambda: len(telegram.called("getUpdates")) > 3, within=30)
    assert "another program" in fleet.stores.channels.facts(BOT)["lastError"]
    telegram.always("getUpdates", None)
    telegram.bot.say(json.dumps(program(say("back"))))
    assert fleet.replies(count=2, within=30)[-1] == "back"
    eventually(lambda: fleet.stores.channels.facts(BOT)["lastError"] == "", within=10)
