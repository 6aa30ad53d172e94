"""Reading the ledger: every call once, sums by what is asked for."""

from __future__ import annotations

import time

import redis

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.ledger import ModelCall, day_of
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.llm.ledger import Ledger, totals

DAY_MS = 86_400_000


def _call(number: int, *, days_ago: int = 0, model: str = "m", outcome: str = "ok") -> ModelCall:
    return ModelCall(
        id=f"call-{number}",
        at=int(time.time() * 1000) - days_ago * DAY_MS,
        run=RunId("run-1"),
        session=SessionKey(f"agent:main:{number % 2}"),
        agent="main",
        tree=SessionKey("agent:main:main"),
        provider="p",
        model=model,
        usage=Usage(input=10, output=1),
        cost=0.5 if model == "dear" else 0.0,
        outcome=outcome,
    )


def _book(redis_client: redis.Redis, keys: Keys, *calls: ModelCall) -> None:
    for call in calls:
        redis_client.hset(keys.ledger(day_of(call.at)), call.id, call.model_dump_json())


def test_every_call_of_a_busy_day_is_read_once(redis_client: redis.Redis, namespace: str) -> None:
    keys = Keys(namespace)
    _book(redis_client, keys, *map(_call, range(3000)))
    assert sorted(call.id for call in Ledger(redis_client, keys).calls()) == sorted(f"call-{n}" for n in range(3000))


def test_days_are_counted_from_today_and_damage_is_left_out(redis_client: redis.Redis, namespace: str) -> None:
    keys = Keys(namespace)
    _book(redis_client, keys, _call(1), _call(2, days_ago=1), _call(3, days_ago=5))
    redis_client.hset(keys.ledger(day_of(_call(1).at)), "torn", "{half")
    ledger = Ledger(redis_client, keys)
    assert [call.id for call in ledger.calls()] == ["call-1"]
    assert [call.id for call in ledger.calls(2)] == ["call-2", "call-1"]
    assert [call.id for call in ledger.calls(6)] == ["call-3", "call-2", "call-1"]


def test_sums_are_by_one_dimension_the_dearest_first() -> None:
    calls = [_call(1), _call(2, model="dear"), _call(3, outcome="timeout")]
    by_model = totals(calls, lambda call: f"{call.provider}/{call.model}")
    assert [(each.name, each.calls, each.failed, each.cost) for each in by_model] == [
        ("p/dear", 1, 0, 0.5),
        ("p/m", 2, 1, 0.0),
    ]
    assert {each.name: each.input for each in totals(calls, lambda call: call.session)} == {
        "agent:main:1": 20,
        "agent:main:0": 10,
    }
