"""Updates are stored before Telegram forgets them, and handled in order, whatever goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
import redis as redis_py

from ingress.channels.telegram.poller import PollTimes
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import Channels
from openclaw_workers.store.keys import Keys
from tests.component.ingress.telegram.receiving import BOT, Json, Receiving
from tests.support.fake_telegram import Cut, FakeTelegram, Gateway, Refuse, Stall
from tests.support.fake_telegram_updates import ADA, BOB, photo


@pytest.fixture
def receiving(telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str) -> Receiving:
    return Receiving(telegram, redis_client, namespace)


def offsets(telegram: FakeTelegram) -> list[int]:
    return [int(call.params.get("offset", 0)) for call in telegram.called("getUpdates")]


def test_each_message_is_handled_once_and_in_order(telegram: FakeTelegram, receiving: Receiving) -> None:
    async def main() -> None:
        telegram.bot.say("before")
        async with receiving.running():
            await receiving.until(lambda: receiving.texts == ["before"])
            for number in range(5):
                telegram.bot.say(str(number))
            await receiving.until(lambda: receiving.texts == ["before", "0", "1", "2", "3", "4"])
            await receiving.until(lambda: not telegram.bot.updates)
            assert receiving.channels.received(BOT) == {}

    asyncio.run(main())


def test_the_offset_waits_until_redis_has_the_updates(
    telegram: FakeTelegram, receiving: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the protection, the poller would ask for the next update while Redis is away."""
    store = Channels.receive
    away = [True]

    def refuse(*args: object, **named: object) -> object:
        if away[0] and args[2]:
            raise StoreUnavailable("away")
        return store(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Channels, "receive", refuse)

    async def main() -> None:
        telegram.bot.say("kept")
        async with receiving.running():
            await receiving.until(lambda: telegram.called("getUpdates"))
            await asyncio.sleep(1.2)
            assert set(offsets(telegram)) == {0}
            assert telegram.bot.updates
            away[0] = False
            await receiving.until(lambda: receiving.texts == ["kept"])
            await receiving.until(lambda: not telegram.bot.updates)

    asyncio.run(main())


@pytest.mark.parametrize(
    "behaviour",
    [
        Refuse(409, "Conflict: terminated by other getUpdates request"),
        Refuse(429, "Too Many Requests: retry after 1", retry_after=1),
        Refuse(500, "Internal Server Error"),
        Gateway(502),
        Cut(after=False),
        Cut(after=True),
    ],
)
def test_polling_goes_on_after_a_failure(telegram: FakeTelegram, receiving: Receiving, behaviour: object) -> None:
    async def main() -> None:
        telegram.script("getUpdates", behaviour, behaviour)  # type: ignore[arg-type]
        telegram.bot.say("hello")
        async with receiving.running():
            await receiving.until(lambda: receiving.texts == ["hello"])
            assert receiving.channels.facts(BOT).get("lastError", "") == ""

    asyncio.run(main())


def test_a_stalled_poll_is_given_up(
    telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that answers nothing must not make the bot deaf."""
    monkeypatch.setattr("ingress.channels.telegram.client.STALL_SECONDS", 1.0)
    receiving = Receiving(telegram, redis_client, namespace, times=PollTimes(poll=1))

    async def main() -> None:
        telegram.script("getUpdates", Stall())
        async with receiving.running():
            await receiving.until(lambda: telegram.called("getUpdates"))
            telegram.bot.say("hello")
            await receiving.until(lambda: receiving.texts == ["hello"])

    asyncio.run(main())


def test_a_process_that_cannot_reach_telegram_gives_the_account_away(
    telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str
) -> None:
    receiving = Receiving(telegram, redis_client, namespace, times=PollTimes(poll=1, give_up=0.5))

    async def main() -> None:
        telegram.always("getUpdates", Cut(after=False))
        async with receiving.running():
            await receiving.until(lambda: receiving.ended)
        assert receiving.ended == "Unreachable"

    asyncio.run(main())


def test_a_webhook_that_is_in_the_way_is_removed(telegram: FakeTelegram, receiving: Receiving) -> None:
    async def main() -> None:
        telegram.bot.webhook = {"url": "https://elsewhere.example"}
        telegram.bot.say("hello")
        async with receiving.running():
            await receiving.until(lambda: receiving.texts == ["hello"])

    asyncio.run(main())


def test_an_update_that_cannot_be_handled_is_noted_and_the_next_one_is_handled(
    telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str
) -> None:
    async def handle(updates: Sequence[Json]) -> None:
        if updates[0]["message"].get("text") == "poison":
            raise RuntimeError("cannot be parsed")

    receiving = Receiving(telegram, redis_client, namespace, handle=handle)

    async def main() -> None:
        telegram.bot.say("poison")
        telegram.bot.say("fine")
        telegram.bot.deliver({"message": "no object"})
        async with receiving.running():
            await receiving.until(lambda: receiving.texts == ["fine"])
            await receiving.until(lambda: not receiving.channels.received(BOT))
        reasons = [note["reason"] for note in receiving.channels.refused(BOT)]
        assert len(reasons) == 2
        assert any("cannot be parsed" in reason for reason in reasons)

    asyncio.run(main())


def test_a_slow_message_holds_up_its_own_chat_only(
    telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str
) -> None:
    go = asyncio.Event()

    async def handle(updates: Sequence[Json]) -> None:
        if updates[0]["message"].get("text") == "slow":
            await go.wait()

    receiving = Receiving(telegram, redis_client, namespace, handle=handle)

    async def main() -> None:
        telegram.bot.say("slow", ADA)
        telegram.bot.say("behind it", ADA)
        for number in range(150):  # more than Telegram returns at once
            telegram.bot.say(f"b{number}", BOB)
        async with receiving.running():
            await receiving.until(lambda: len(receiving.handled) == 150)
            assert all(text.startswith("b") for text in receiving.texts)
            go.set()
            await receiving.until(lambda: receiving.texts[-2:] == ["slow", "behind it"])

    asyncio.run(main())


def test_the_parts_of_an_album_are_one_message(telegram: FakeTelegram, receiving: Receiving) -> None:
    async def main() -> None:
        for number in range(3):
            telegram.bot.say("caption" if number == 0 else "", extra={**photo(f"f{number}"), "media_group_id": "9"})
        telegram.bot.say("next")
        async with receiving.running():
            await receiving.until(lambda: len(receiving.handled) == 2)
        assert [len(each) for each in receiving.handled] == [3, 1]

    asyncio.run(main())


def test_an_old_offset_is_not_used(
    telegram: FakeTelegram, receiving: Receiving, redis_client: redis_py.Redis, namespace: str
) -> None:
    """After a week Telegram may count from the beginning; an older offset would make it forget new messages."""
    redis_client.hset(Keys(namespace).channel(BOT.name), mapping={"offset": 10**6, "offset_at": 1})

    async def main() -> None:
        telegram.bot.say("hello")
        async with receiving.running():
            await receiving.until(lambda: receiving.texts == ["hello"])

    asyncio.run(main())


def test_what_was_being_handled_when_the_account_was_lost_is_handled_later(
    telegram: FakeTelegram, redis_client: redis_py.Redis, namespace: str
) -> None:
    """The same process may get the account back."""
    go = asyncio.Event()

    async def handle(updates: Sequence[Json]) -> None:
        await go.wait()

    receiving = Receiving(telegram, redis_client, namespace, handle=handle)

    async def main() -> None:
        telegram.bot.say("cut off")
        async with receiving.running():
            await receiving.until(lambda: receiving.channels.received(BOT))
            await receiving.until(lambda: not telegram.bot.updates)
        assert receiving.texts == []
        go.set()
        again = asyncio.create_task(receiving.updates.run())
        await receiving.until(lambda: receiving.texts == ["cut off"])
        again.cancel()

    asyncio.run(main())
