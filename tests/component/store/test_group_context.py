"""Messages of a group that nobody addressed to the bot."""

from __future__ import annotations

import pytest
import redis as redis_py

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.store.group_context import TEXT_CHARS, ContextMessage, GroupContext
from openclaw_workers.store.keys import Keys

GROUP = SessionKey("agent:main:telegram:group:-100")


@pytest.fixture
def contexts(redis: redis_py.Redis, namespace: str) -> GroupContext:
    return GroupContext(redis, Keys(namespace))


def said(number: int, text: str = "") -> ContextMessage:
    return ContextMessage(message_id=str(number), sender_id="7", sender_name="Ada", sent_at=number, text=text or "hi")


def kept(contexts: GroupContext) -> list[str]:
    return [each.message_id for each in contexts.pending(GROUP).messages]


def test_the_latest_are_kept_in_order_and_each_once(contexts: GroupContext) -> None:
    for number in (1, 2, 2, 3, 4):
        contexts.keep(GROUP, said(number), 3)

    assert kept(contexts) == ["2", "3", "4"]


def test_a_limit_of_zero_keeps_none(contexts: GroupContext) -> None:
    contexts.keep(GROUP, said(1), 0)

    assert kept(contexts) == []


def test_only_what_was_read_is_forgotten(contexts: GroupContext) -> None:
    contexts.keep(GROUP, said(1), 5)
    first, second = contexts.pending(GROUP), contexts.pending(GROUP)
    contexts.forget(GROUP, first)
    assert kept(contexts) == []

    contexts.keep(GROUP, said(2), 5)
    contexts.forget(GROUP, second)
    assert kept(contexts) == ["2"], "two turns read the same; the later one forgets nothing that came since"


def test_a_long_message_is_cut_and_all_are_forgotten_in_time(
    contexts: GroupContext, redis: redis_py.Redis, namespace: str
) -> None:
    contexts.keep(GROUP, said(1, "x" * 5_000), 5)

    (message,) = contexts.pending(GROUP).messages
    assert len(message.text) == TEXT_CHARS
    assert 0 < int(str(redis.ttl(Keys(namespace).context(GROUP)))) <= 86_400


def test_a_damaged_one_is_left_out(contexts: GroupContext, redis: redis_py.Redis, namespace: str) -> None:
    contexts.keep(GROUP, said(1), 5)
    redis.zadd(Keys(namespace).context(GROUP), {"{": 1})

    assert kept(contexts) == ["1"]
