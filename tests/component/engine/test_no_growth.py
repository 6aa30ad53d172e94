"""Redis does not grow: months of the same traffic leave as much behind as the first ones, key by key.

Redis' clock, the process' clock and the expiry of keys move by days in a moment. The longest retention is 90 days.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis

from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.job import JobDraft
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.engine.client_graph import jobs_of, system_events_of
from openclaw_workers.store import keys as keys_module
from openclaw_workers.store.outbox_records import Account, PartOutcome
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.support.moved_time import MovedTime
from tests.support.programs import as_text, program, say, spawn

DAY = 86_400
ROUND_DAYS = 18
LONGEST_ROUNDS = 90 // ROUND_DAYS + 1
CONFIG = {
    "engine": {"leaseSeconds": 130},
    "session": {"maintenance": {"pruneAfter": "14d", "maxEntries": 50}, "dmScope": "per-channel-peer"},
    "channels": {"telegram": {"enabled": True, "botToken": "1:x"}},
    "heartbeat": {"every": "1d", "target": "none", "prompt": as_text(program(say("HEARTBEAT_OK")))},
    "cron": {"jobs": {"weekly": {"every": "3d", "message": as_text(program(say("done")))}}},
    "budgets": {"day": {"tokens": 10_000_000}},
}
BOT = Account("telegram", "default")
SIZES = {"hash": "hlen", "zset": "zcard", "list": "llen", "set": "scard", "stream": "xlen"}


def chat(to: str) -> Route:
    return Route(channel="telegram", account_id="default", to=to)


def traffic(engine: EngineHarness, number: int) -> None:
    """What people do: old and new chats, sub-agents, resets, reminders, events."""
    engine.say("hello", route=chat("1"), message_id=MessageId(f"m-{number}"))
    engine.say(as_text(program(spawn("say hello"), say("spawned"))), SessionKey("agent:main:tree"))
    engine.say("hello", SessionKey("agent:main:telegram:group:7"), route=chat("-7"))
    engine.say("hello", SessionKey(f"agent:main:telegram:dm:{number}"), route=chat(str(number)))
    engine.say("hello", SessionKey(f"agent:main:named-{number}"))
    system_events_of(engine.stores, engine.waker).add(SESSION, source="exec", text="done", key=f"k{number}", wake=True)
    jobs = jobs_of(engine.stores, engine.waker)
    reminder = JobDraft(at="1h", message="remind me", session_target="main")
    jobs.add(reminder, authority=Authority.OWNER, created_by="test", job_id=f"reminder-{number}")
    engine.work()
    engine.control.reset(SessionKey(f"agent:main:named-{number}"))


def send_all(engine: EngineHarness) -> None:
    """Send what the outbox holds, as an ingress does."""
    outbox = engine.stores.outbox
    while claims := outbox.claim([BOT], lease_ms=5_000, most=32).claims:
        for claim in claims:
            following: Any = claim
            while following is not None:
                assert outbox.sending(following, following.entry.next_part, ['{"payload": {}}'], lease_ms=5_000)
                part = following.entry.next_part
                following = outbox.record(following, part, PartOutcome.SENT, lease_ms=5_000, message_id="1")


def settle(engine: EngineHarness, moved: MovedTime) -> None:
    """Sweep until nothing is left to do, with a minute between sweeps."""
    for _ in range(9):
        engine.sweeper.sweep()
        engine.work()
        send_all(engine)
        moved.advance(60)
    engine.stores.workers.prune()


def sizes(client: redis.Redis, namespace: str) -> Counter[str]:
    """Entries of all keys, by the pattern of their names."""
    found: Counter[str] = Counter()
    for key in client.scan_iter(match=f"{namespace}:*", count=1_000):
        kind = client.type(key)
        found[pattern_of(str(key), namespace)] += getattr(client, SIZES[kind])(key) if kind in SIZES else 1
    return found


ROWS = re.findall(r"^    \{ns\}:(\S+) +(\w+) +(.+?)  ", keys_module.__doc__ or "", re.MULTILINE)
"""Name, type and what removes it, of each key that the project uses."""
PATTERNS = {
    row[0]: re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(row[0])))
    # The most particular name first: `job:{id}:log` before `job:{id}`.
    for row in sorted(ROWS, key=lambda row: (-row[0].count(":"), -len(row[0])))
}
BOUNDED = {name for name, _, expires in ROWS if expires.startswith("newest ")}
"""Keys that keep a number of entries, and so grow until they have it."""


def pattern_of(key: str, namespace: str) -> str:
    rest = key.removeprefix(f"{namespace}:")
    found = [name for name, pattern in PATTERNS.items() if pattern.fullmatch(rest)]
    assert found, f"{key} is not listed in store/keys.py with what removes it"
    return str(found[0])


@pytest.mark.timeout(300)
def test_nothing_grows_after_the_longest_retention(
    redis_client: redis.Redis,
    namespace: str,
    make_engine: MakeEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = MovedTime(redis_client, tmp_path / "clock", monkeypatch)
    engine = make_engine(CONFIG)
    engine.built.declared_jobs.sync()
    rounds = []
    for number in range(2 * LONGEST_ROUNDS):
        traffic(engine, number)
        settle(engine, moved)
        rounds.append(sizes(redis_client, namespace))
        moved.advance(ROUND_DAYS * DAY)

    first, last = highest(rounds[LONGEST_ROUNDS - 1 : LONGEST_ROUNDS + 2]), highest(rounds[-3:])
    grown = {name: (first[name], count) for name, count in last.items() if count > first[name]}
    # Where store/keys.py says `newest N`, a key grows until it has so many entries.
    assert not {name: counts for name, counts in grown.items() if name not in BOUNDED}


def highest(rounds: list[Counter[str]]) -> Counter[str]:
    """The highest count of each pattern."""
    found: Counter[str] = Counter()
    for each in rounds:
        found |= each
    return found
