"""What stays in Redis: bounded for each turn, whatever a session's age, and removed in small steps."""

from __future__ import annotations

from openclaw_workers.store import workers
from openclaw_workers.store.keys import Keys
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text
from tests.support.programs import say

TWO_HOURS = 7200
TURNS = 30
MOST_BYTES = 4096


def kept_bytes(engine: EngineHarness) -> int:
    """Memory of what will still be there in two hours."""
    redis = engine.stores.redis
    keys = list(redis.scan_iter(f"{engine.stores.keys.namespace}:*"))
    lasting = [key for key in keys if not 0 <= redis.ttl(key) <= TWO_HOURS]
    return sum(int(redis.memory_usage(key, samples=0) or 0) for key in lasting)


def test_a_turn_leaves_at_most_4_kilobytes_after_two_hours(engine: EngineHarness) -> None:
    def talk() -> None:
        for number in range(TURNS):
            engine.say(text(say(f"An answer of some length, number {number}. " * 5)))
            engine.work()

    talk()
    before = kept_bytes(engine)
    talk()

    assert (kept_bytes(engine) - before) / TURNS <= MOST_BYTES


def test_events_of_an_idle_session_expire_and_new_ones_are_shown_again(engine: EngineHarness) -> None:
    engine.say(text(say("hello")))
    engine.work()
    events = engine.stores.keys.events(SESSION)
    assert 0 < engine.stores.redis.ttl(events) <= 3600

    engine.stores.redis.delete(events)  # an hour passes
    engine.control.reset(SESSION)

    assert engine.events() == ["session.reset"], "viewers that still wait are told"


def test_the_end_of_a_run_removes_events_that_are_older_than_an_hour(engine: EngineHarness) -> None:
    events, redis = engine.stores.keys.events(SESSION), engine.stores.redis
    old = engine.stores.due.now_ms() - 2 * 3_600_000
    for number in range(500):
        redis.xadd(events, {"type": "text.delta", "seq": "1", "at": "1", "data": "{}"}, id=f"{old}-{number}")
    engine.say(text(say("hello")))
    engine.work()

    assert redis.xlen(events) < 250


def test_the_budget_of_a_tree_is_kept_for_two_days_and_that_of_the_day_longer(make_engine: MakeEngine) -> None:
    engine = make_engine({"budgets": {"tree": {"calls": 10}, "day": {"calls": 100}}})
    engine.say(text(say("hello")))
    engine.work()

    keys, redis = engine.stores.keys, engine.stores.redis
    spent = {str(key): redis.ttl(key) for key in redis.scan_iter(f"{keys.namespace}:budget:*:spent")}
    tree = [left for key, left in spent.items() if ":tree " in key]
    assert tree
    assert all(0 < left <= 2 * 86_400 for left in tree)
    assert next(left for key, left in spent.items() if ":day " in key) > 80 * 86_400


def old_runs(engine: EngineHarness, count: int) -> None:
    engine.stores.redis.zadd(engine.stores.keys.runs, {f"run-{number}": 1 + number for number in range(count)})


def test_the_index_of_runs_is_pruned_in_steps(engine: EngineHarness) -> None:
    old_runs(engine, workers.PRUNED_AT_ONCE + 5)

    assert engine.stores.workers.prune(), "more is left"
    assert engine.stores.redis.zcard(engine.stores.keys.runs) == 5
    assert not engine.stores.workers.prune()
    assert engine.stores.redis.zcard(engine.stores.keys.runs) == 0


def test_a_worker_that_has_just_started_prunes_if_nobody_has_for_an_hour(engine: EngineHarness) -> None:
    """Workers that are replaced every hour would otherwise never prune."""
    old_runs(engine, 5)
    engine.sweeper.sweep()
    assert engine.stores.redis.zcard(engine.stores.keys.runs) == 0

    old_runs(engine, 5)
    engine.stores.workers.prune()
    assert engine.stores.redis.zcard(engine.stores.keys.runs) == 5, "somebody has just done so"
    sweep = Keys(engine.stores.keys.namespace).sweep
    engine.stores.redis.hset(sweep, "pruned_at", str(engine.stores.due.now_ms() - 3_700_000))
    engine.stores.workers.prune()
    assert engine.stores.redis.zcard(engine.stores.keys.runs) == 0
