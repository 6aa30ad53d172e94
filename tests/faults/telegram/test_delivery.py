"""Whatever happens on the way to Telegram, each reply is sent once, or marked as unknown."""

from __future__ import annotations

import json

import pytest

from ingress.channels.telegram.client import TelegramClient
from openclaw_workers.domain.outgoing import OutboxEntry, OutgoingState
from openclaw_workers.store.outbox import Outbox
from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import Cut, FakeTelegram, Gateway, Hold, Refuse
from tests.support.fake_telegram_updates import ADA, BOB
from tests.support.faulty_workers import place
from tests.support.programs import program, say
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually


def ask(telegram: FakeTelegram, text: str) -> None:
    telegram.bot.say(json.dumps(program(say(text))))


def settled(fleet: TelegramFleet, count: int = 1) -> list[OutboxEntry]:
    """Wait until no message is on its way."""
    over = (OutgoingState.SENT, OutgoingState.UNKNOWN, OutgoingState.FAILED)

    def entries() -> list[OutboxEntry] | None:
        found = fleet.outbox()
        return found if len(found) >= count and all(each.state in over for each in found) else None

    return eventually(entries, within=60)


def attempts(telegram: FakeTelegram) -> list[str]:
    return [call.params["text"] for call in telegram.called("sendMessage")]


def test_a_limit_is_waited_for(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.script("sendMessage", Refuse(429, "Too Many Requests: retry after 2", retry_after=2))
    ask(telegram, "patient")
    assert fleet.replies() == ["patient"]
    first, second = telegram.called("sendMessage")
    assert second.at - first.at >= 1.9
    assert [entry.state for entry in settled(fleet)] == ["sent"]


@pytest.mark.parametrize(
    "behaviour", [Refuse(500, "Internal Server Error"), Refuse(401, "Unauthorized")], ids=["500", "401"]
)
def test_what_telegram_did_not_take_is_sent_again(
    fleet: TelegramFleet, telegram: FakeTelegram, behaviour: Refuse
) -> None:
    telegram.script("sendMessage", behaviour)
    ask(telegram, "again")
    assert fleet.replies() == ["again"]
    assert [entry.state for entry in settled(fleet)] == ["sent"]


@pytest.mark.parametrize(
    ("behaviour", "shown"),
    [(Cut(after=True), ["cut off"]), (Cut(after=False), []), (Gateway(502), [])],
    ids=["after", "before", "gateway"],
)
def test_what_may_have_arrived_is_unknown_and_not_sent_again(
    fleet: TelegramFleet, telegram: FakeTelegram, behaviour: Cut | Gateway, shown: list[str]
) -> None:
    telegram.script("sendMessage", behaviour)
    ask(telegram, "cut off")
    assert [entry.state for entry in settled(fleet)] == ["unknown"]
    ask(telegram, "next")
    assert fleet.replies(count=len(shown) + 1) == [*shown, "next"]
    assert attempts(telegram) == ["cut off", "next"]

    fleet.stores.outbox.retry(fleet.outbox()[0].id)
    assert fleet.replies(count=len(shown) + 2)[-1] == "cut off"


def test_a_chat_that_blocks_the_bot_is_recorded_until_it_writes_again(
    fleet: TelegramFleet, telegram: FakeTelegram
) -> None:
    telegram.bot.blocked.add(ADA.id)
    ask(telegram, "nobody reads this")
    (entry,) = settled(fleet)
    assert entry.state == "failed"
    assert "blocked" in entry.error
    assert list(fleet.stores.channels.blocked(BOT)) == [str(ADA.id)]
    telegram.bot.blocked.clear()
    ask(telegram, "hello again")
    assert fleet.replies() == ["hello again"]
    assert fleet.stores.channels.blocked(BOT) == {}


def test_a_chat_that_waits_does_not_hold_up_others(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(channels={"telegram": {"allowFrom": [str(BOB.id)]}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    hold = Hold()
    telegram.script("sendMessage", hold)
    ask(telegram, "slow")
    assert hold.reached.wait(30)
    telegram.bot.say(json.dumps(program(say("quick"))), BOB)
    assert fleet.replies(BOB.id) == ["quick"]
    hold.go.set()
    assert [entry.state for entry in settled(fleet, 2)] == ["sent", "sent"]


def test_an_ingress_killed_before_the_send_leaves_it_to_the_next_one(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = make_fleet()
    fleet.worker("main")
    ask(telegram, "reply")
    fleet.dying_ingress(f"{place(Outbox.sending)}:1").wait(60)
    fleet.ingress()
    assert fleet.replies(within=60) == ["reply"]
    assert attempts(telegram) == ["reply"]
    assert [entry.state for entry in settled(fleet)] == ["sent"]


@pytest.mark.parametrize(
    "step",
    [f"{place(Outbox.sending)}:1:after", f"{place(TelegramClient.send)}:1", f"{place(Outbox.record)}:1"],
)
def test_an_ingress_killed_around_the_send_makes_it_unknown(
    make_fleet: MakeFleet, telegram: FakeTelegram, step: str
) -> None:
    """Between `sending` and the record nobody can say whether it arrived."""
    fleet = make_fleet()
    fleet.worker("main")
    ask(telegram, "reply")
    fleet.dying_ingress(step).wait(60)
    fleet.ingress()
    (entry,) = settled(fleet)
    assert entry.state == "unknown"
    assert len(attempts(telegram)) <= 1
    ask(telegram, "next")
    eventually(lambda: "next" in telegram.bot.texts(), within=30)
    assert attempts(telegram).count("reply") <= 1


def test_an_ingress_killed_after_the_record_sends_nothing_again(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet()
    fleet.worker("main")
    ask(telegram, "reply")
    fleet.dying_ingress(f"{place(Outbox.record)}:1:after").wait(60)
    fleet.ingress()
    ask(telegram, "next")
    assert fleet.replies(count=2, within=60) == ["reply", "next"]
    assert [entry.state for entry in settled(fleet, 2)] == ["sent", "sent"]


def test_an_ingress_killed_while_telegram_has_the_message_makes_it_unknown(
    fleet: TelegramFleet, telegram: FakeTelegram
) -> None:
    hold = Hold()
    telegram.script("sendMessage", hold)
    ask(telegram, "in flight")
    assert hold.reached.wait(30)
    fleet.ingresses[0].kill()
    hold.go.set()
    fleet.ingress()
    (entry,) = settled(fleet)
    assert entry.state == "unknown"
    assert telegram.bot.texts() == ["in flight"]
    assert attempts(telegram) == ["in flight"]
