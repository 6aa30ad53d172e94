"""Accounts of channels: one process receives, updates are stored with the offset, threads are bound."""

from __future__ import annotations

import pytest
import redis as redis_py

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.errors import StoreFull
from openclaw_workers.store.channels import ChannelAccount, Channels, WantedThread
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.sessions import Sessions
from tests.support.waiting import eventually

BOT = ChannelAccount("telegram", "default")
OTHER = ChannelAccount("telegram", "other")
CHILD = SessionKey("agent:main:subagent:1")
WANTED = Route(channel="telegram", account_id="default", to="-100", thread_id="sub-1234")


@pytest.fixture
def channels(redis: redis_py.Redis, namespace: str) -> Channels:
    return Channels(redis, Keys(namespace))


def wait_for_thread(redis: redis_py.Redis, namespace: str) -> None:
    """As a spawn leaves it."""
    redis.hset(Keys(namespace).threads, WANTED.address(), CHILD)
    redis.hset(Keys(namespace).row(CHILD), mapping={"threadBinding": WANTED.address(), "lastThreadId": "sub-1234"})


def test_one_process_receives_for_an_account(channels: Channels) -> None:
    assert channels.claim(BOT, "a", "host-a/1", lease_ms=5_000).is_mine
    assert channels.claim(BOT, "b", "host-b/1", lease_ms=5_000).holder == "host-a/1"
    assert channels.claim(BOT, "a", "host-a/1", lease_ms=5_000).is_mine
    assert channels.claim(OTHER, "b", "host-b/1", lease_ms=5_000).is_mine


def test_an_account_that_is_given_back_or_left_is_free(channels: Channels) -> None:
    channels.claim(BOT, "a", "host-a/1", lease_ms=5_000)
    channels.claim(BOT, "a", "host-a/1", lease_ms=0)
    assert channels.claim(BOT, "b", "host-b/1", lease_ms=30).is_mine
    assert eventually(lambda: channels.claim(BOT, "c", "host-c/1", lease_ms=5_000).is_mine, within=2)


def test_only_the_holder_gives_an_account_back(channels: Channels) -> None:
    channels.claim(BOT, "a", "host-a/1", lease_ms=5_000)
    assert not channels.claim(BOT, "b", "host-b/1", lease_ms=0).is_mine
    assert not channels.claim(BOT, "b", "host-b/1", lease_ms=5_000).is_mine


def test_updates_are_stored_in_order_together_with_the_offset(channels: Channels) -> None:
    channels.claim(BOT, "a", "host-a/1", lease_ms=5_000)
    assert channels.receive(BOT, {11: "eleven", 9: "nine"}, token="a", offset=12) == 2
    assert channels.received(BOT) == {9: "nine", 11: "eleven"}
    claim = channels.claim(BOT, "a", "host-a/1", lease_ms=5_000)
    assert (claim.offset, claim.offset_at > 0) == (12, True)
    channels.handled(BOT, [9])
    assert channels.received(BOT) == {11: "eleven"}


def test_a_process_that_lost_the_account_stores_nothing(channels: Channels) -> None:
    channels.claim(BOT, "a", "host-a/1", lease_ms=5_000)
    assert channels.receive(BOT, {7: "late"}, token="old", offset=8) is None
    assert channels.received(BOT) == {}
    assert channels.claim(BOT, "a", "host-a/1", lease_ms=5_000).offset is None


def test_an_update_that_comes_again_is_kept_once(channels: Channels) -> None:
    assert channels.receive(BOT, {7: "first"}) == 1
    assert channels.receive(BOT, {7: "second"}) == 1
    assert channels.received(BOT) == {7: "first"}


def test_a_nearly_full_redis_takes_no_updates(channels: Channels, redis: redis_py.Redis, namespace: str) -> None:
    redis.hset(Keys(namespace).memory, mapping={"high": 1, "percent": 95})
    with pytest.raises(StoreFull):
        channels.receive(BOT, {7: "first"}, offset=8)
    assert channels.received(BOT) == {}


def test_an_update_that_cannot_be_accepted_is_noted_once(channels: Channels) -> None:
    channels.receive(BOT, {7: "damaged", 8: "fine"})
    for _ in range(2):
        channels.refuse(BOT, [7], {"reason": "no JSON"})
    assert channels.received(BOT) == {8: "fine"}
    assert channels.refused(BOT) == [{"reason": "no JSON"}]


def test_a_session_is_bound_to_the_thread_that_was_created(
    channels: Channels, redis: redis_py.Redis, namespace: str
) -> None:
    wait_for_thread(redis, namespace)
    (wanted,) = channels.wanted_threads(BOT, "sub-")
    assert wanted == WantedThread(CHILD, WANTED)
    assert channels.thread_created_for(WANTED) is None
    created = WANTED.model_copy(update={"thread_id": "77"})
    assert channels.bind_thread(wanted, created)
    assert not channels.bind_thread(wanted, created)
    assert channels.thread_created_for(WANTED) == "77"
    sessions = Sessions(redis, Keys(namespace), grant_ms=1)
    assert sessions.in_thread(created.address()) == CHILD
    assert sessions.in_thread(WANTED.address()) is None
    assert redis.hget(Keys(namespace).row(CHILD), "lastThreadId") == "77"
    assert channels.wanted_threads(BOT, "sub-") == []


def test_a_session_without_a_thread_speaks_in_the_chat(
    channels: Channels, redis: redis_py.Redis, namespace: str
) -> None:
    wait_for_thread(redis, namespace)
    (wanted,) = channels.wanted_threads(BOT, "sub-")
    channels.bind_thread(wanted, None, otherwise="5")
    assert channels.thread_created_for(WANTED) == "5"
    row = redis.hgetall(Keys(namespace).row(CHILD))
    assert row == {"lastThreadId": "5"}


def test_a_session_that_is_gone_is_not_bound(channels: Channels, redis: redis_py.Redis, namespace: str) -> None:
    wanted = WantedThread(CHILD, WANTED)
    assert not channels.bind_thread(wanted, WANTED.model_copy(update={"thread_id": "77"}))
    assert redis.exists(Keys(namespace).row(CHILD)) == 0


def test_chats_with_an_agent_at_work_are_found(channels: Channels, redis: redis_py.Redis, namespace: str) -> None:
    keys = Keys(namespace)
    here, parent, elsewhere = (SessionKey(f"agent:main:{name}") for name in ("main", "parent", "other"))
    redis.zadd(keys.running, {here: 1_000, elsewhere: 2_000, CHILD: 3_000})
    place = {"lastChannel": "telegram", "lastAccountId": "default", "lastTo": "1001", "chatType": "dm"}
    for session in (here, parent):
        for field, value in place.items():
            redis.hset(keys.row(session), field, value)
    redis.hset(keys.row(elsewhere), mapping={"lastChannel": "cli"})
    redis.hset(keys.row(CHILD), mapping={"rootSessionKey": parent})
    found = channels.busy(BOT)
    assert {session: (chat.since, chat.is_running) for session, chat in found.items()} == {
        here: (1_000, True),
        parent: (3_000, False),
    }
    assert (found[here].route.to, found[here].is_direct) == ("1001", True)


def test_progress_messages_are_remembered(channels: Channels) -> None:
    channels.note_progress(BOT, CHILD, WANTED, "12")
    assert channels.progress(BOT) == {CHILD: (WANTED, "12")}
    channels.forget_progress(BOT, CHILD)
    assert channels.progress(BOT) == {}


def test_chats_that_block_the_bot_are_noted(channels: Channels) -> None:
    channels.block(BOT, "1001", {"reason": "blocked"})
    assert channels.blocked(BOT) == {"1001": {"reason": "blocked"}}
    channels.unblock(BOT, "1001")
    assert channels.blocked(BOT) == {}
