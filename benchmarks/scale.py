"""How the cost of each script grows: with sessions, waiting messages, calls under way, due items and workers.

The times are those of Redis itself (`commandstats`), so that they hold for any client. A script that a turn uses must
not take more than one and a half times as long at the largest size as at the smallest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import redis

from benchmarks.stage import Stage
from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock
from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.pace import SweepPace
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, RateLimits
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.store.workers import Workers
from tests.component.store.harness import LEASE_MS, StoreHarness

Figures = dict[str, Any]
SAID = AssistantEntry(content=[TextBlock(text="an answer of one sentence")])
MEASURED = 60
"""Calls of each script at each size."""
ROUNDS = 3
SESSIONS = (100, 10_000, 100_000)
WAITING = (20, 990)
"""Beyond 1,000 nothing is accepted."""
CALLS = (100, 1_000, 10_000)
DUE = (100, 1_000, 10_000)
WORKERS = (1, 10, 40)
WATCHED_SECONDS = 6.0


def by_sessions(stage: Stage) -> Figures:
    """The scripts of a turn, in an installation with so many sessions."""
    return _grown(stage, SESSIONS, _with_sessions)


def by_waiting_messages(stage: Stage) -> Figures:
    """The scripts of a turn, in sessions where so many messages wait."""
    return _grown(stage, WAITING, _with_messages)


def by_calls(stage: Stage) -> Figures:
    """Reserving from a budget from which so many calls under way have reserved."""
    return _grown(stage, CALLS, _with_calls)


def by_due_items(stage: Stage) -> Figures:
    """Claiming a few due items of so many."""
    return _grown(stage, DUE, _with_due_items)


def by_workers(stage: Stage) -> Figures:
    """How often sweepers ask, and how late they find what is due, with so many of them."""
    figures: Figures = {}
    for count in WORKERS:
        idle, _ = _sweep(stage, count, per_second=0)
        busy, late = _sweep(stage, count, per_second=20)
        figures[f"idle_scripts_per_second_{count}"] = round(idle, 1)
        figures[f"busy_scripts_per_second_{count}"] = round(busy, 1)
        figures[f"late_ms_p99_{count}"] = round(late * 1000)
    return figures


def _grown(stage: Stage, sizes: Iterable[int], measure: Callable[[StoreHarness, int], Mapping[str, float]]) -> Figures:
    """Microseconds by script and size, and the largest growth. The least of a few rounds counts: others disturb."""
    found: dict[str, dict[int, float]] = {}
    for size in sizes:
        for number in range(ROUNDS):
            client = stage.server.client()
            client.flushdb()
            for script, micros in measure(StoreHarness(client, f"b{number}"), size).items():
                known = found.setdefault(script, {})
                known[size] = min(micros, known.get(size, micros))
    figures: Figures = {}
    for script, times in found.items():
        figures |= {f"{script}_us_at_{size}": round(micros, 1) for size, micros in times.items()}
    growth = {script: times[max(times)] / times[min(times)] for script, times in found.items()}
    worst = max(growth, key=lambda script: growth[script])
    return {**figures, "worst_script": worst, "worst_growth": round(growth[worst], 2)}


def _micros(client: redis.Redis, act: Callable[[], object]) -> float:
    """Redis' own time for each script that this calls."""
    client.config_resetstat()
    act()
    stats: Any = client.info("commandstats")
    calls, micros = 0, 0.0
    for name in ("cmdstat_evalsha", "cmdstat_eval"):
        calls += stats.get(name, {}).get("calls", 0)
        micros += stats.get(name, {}).get("usec", 0)
    return micros / max(1, calls)


def _sessions(count: int) -> list[SessionKey]:
    return [SessionKey(f"agent:main:s{number}") for number in range(count)]


def _turns(store: StoreHarness, sessions: list[SessionKey], mode: QueueMode) -> dict[str, float]:
    """Each script of a turn, once in each of these sessions."""
    client = store.redis
    taken: list[Taken] = []
    accept = _micros(
        client, lambda: [store.say("hello", session=key, id=f"new {key}", mode=mode, cap=1000) for key in sessions]
    )
    take = _micros(client, lambda: taken.extend(store.take(session=key) for key in sessions))
    step = _micros(client, lambda: [store.turns().step(each.lease, 1, [SAID], may_steer=True) for each in taken])
    tick = _micros(client, lambda: [store.leases.tick(WorkerId("w"), {}, [each.lease]) for each in taken])
    commit = _micros(client, lambda: [store.commit(each) for each in taken])
    return {"accept": accept, "take": take, "step": step, "tick": tick, "commit": commit}


def _with_sessions(store: StoreHarness, count: int) -> dict[str, float]:
    everyone = _sessions(count)
    pipe, keys = store.redis.pipeline(transaction=False), store.keys
    for number, key in enumerate(everyone):
        row: dict[Any, Any] = {"sessionKey": key, "agentId": "main", "sessionId": f"id-{number}", "updatedAt": "1"}
        row |= {"createdAt": "1", "sessionStartedAt": "1", "lastInteractionAt": str(10**13)}
        pipe.hset(keys.row(key), mapping=row)
        pipe.hset(keys.ctl(key), mapping={"state": "idle", "seq": "0", "eseq": "0"})
        pipe.zadd(keys.sessions, {key: 1})
        pipe.zadd(keys.runs, {f"run-{number}": store.now() if number % 100 == 0 else 10**15})
        if number % 5000 == 4999:
            pipe.execute()
    pipe.execute()
    used = everyone[:: max(1, count // MEASURED)][:MEASURED]
    return {**_turns(store, used, QueueMode.FOLLOWUP), "due": _micros(store.redis, lambda: _claim(store))}


def _with_messages(store: StoreHarness, count: int) -> dict[str, float]:
    used = _sessions(MEASURED)
    for key in used:
        store.say("first", session=key, id=f"first {key}", mode=QueueMode.FOLLOWUP)
        raw = str(store.redis.zrange(store.keys.inbox(key), 0, 0)[0])
        others = {raw.replace('"seq":1,', f'"seq":{n},').replace("first ", f"{n} "): n for n in range(2, count + 1)}
        store.redis.zadd(store.keys.inbox(key), others)
        store.redis.hset(store.keys.ctl(key), "seq", count)
    return _turns(store, used, QueueMode.STEER)


def _with_calls(store: StoreHarness, count: int) -> dict[str, float]:
    limits, budget = RateLimits(store.redis, store.keys), Budget("day", tokens=1e15)
    once = Amounts(tokens=10, cost=0.1, calls=1)

    def reserve(name: str) -> object:
        return limits.reserve(RunId(name), f"{name}:1:1", once, [budget])

    for number in range(count):
        reserve(f"run-{number}")
    new = [f"new-{number}" for number in range(MEASURED)]
    return {
        "reserve": _micros(store.redis, lambda: [reserve(name) for name in new]),
        "hold": _micros(
            store.redis,
            lambda: [limits.renew_reservation(RunId(name), f"{name}:1:1", [], [budget], 1.0) for name in new],
        ),
    }


def _with_due_items(store: StoreHarness, count: int) -> dict[str, float]:
    later = store.now() + 10**7
    store.redis.zadd(store.keys.due, {f"turn|agent:main:{number}": later + number for number in range(count)})
    return {"due": _micros(store.redis, lambda: _claim(store))}


def _claim(store: StoreHarness) -> None:
    for number in range(MEASURED):
        store.redis.zadd(store.keys.due, {f"archive|{number}-{index}": 1 for index in range(5)})
        store.due.claim()


def _sweep(stage: Stage, count: int, *, per_second: float) -> tuple[float, float]:
    """Scripts per second of this many sweepers, and how late (p99, seconds) they handled what became due."""
    client = stage.server.client()
    client.flushdb()
    store, late = StoreHarness(client, "sweep"), list[float]()

    def handle(name: str) -> None:
        late.append((store.now() - int(name.partition("-")[0])) / 1000)
        store.due.done(f"probe|{name}")

    workers = Workers(client, store.keys, lease_ms=LEASE_MS)
    kinds = [DueKind("probe|", handle)]
    sweepers = [
        Sweeper(
            store.due,
            workers,
            store.reader,
            kinds,
            place_id=lambda: "",
            wanted=threading.Event(),
            pace=SweepPace(0.2),
        )
        for _ in range(count)
    ]
    for sweeper in sweepers:
        sweeper.start()
    _keep_alive(store, count, 2.0, 0)  # until they know how many they are
    late.clear()
    client.config_resetstat()
    _keep_alive(store, count, WATCHED_SECONDS, per_second)
    stats: Any = client.info("commandstats")
    for sweeper in sweepers:
        sweeper.stop()
    for sweeper in sweepers:
        sweeper.join()
    found = sorted(late)
    return stats["cmdstat_evalsha"]["calls"] / WATCHED_SECONDS, found[int(len(found) * 0.99)] if found else 0.0


def _keep_alive(store: StoreHarness, count: int, seconds: float, per_second: float) -> None:
    """Let the workers be alive for a while, and items fall due meanwhile."""
    begun, put = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        now = store.now()
        store.redis.zadd(store.keys.workers, {f"w{number}": now for number in range(count)})
        while put < passed * per_second:
            put += 1
            store.redis.zadd(store.keys.due, {f"probe|{now + 30}-{put}": now + 30})
        time.sleep(0.05)
