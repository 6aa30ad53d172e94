"""A parked child whose time is over ends at once, without another word."""

from __future__ import annotations

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.programs import as_text, program, say, spawn


def test_a_parked_child_found_after_its_deadline_times_out_before_any_model_call(engine: EngineHarness) -> None:
    middle = program(spawn(program(say("leaf"))), say("waiting"), say("one word too many"))
    engine.say(as_text(program(spawn(middle), say("spawned"))))
    engine.runner.run(*engine.waker.turns.pop(0))
    engine.runner.run(*engine.waker.turns.pop(0))
    (child,) = engine.stores.tree.children(SESSION)
    assert child.state is RunState.PARKED
    engine.stores.redis.hset(engine.stores.keys.run(child.id), "deadline_at", "1")
    engine.stores.redis.zadd(engine.stores.keys.due, {f"turn|{child.session_key}": 1})
    engine.waker.turns.clear()

    engine.sweeper.sweep()
    engine.work()

    (child,) = engine.stores.tree.children(SESSION)
    assert (child.state, child.reason) == (RunState.TIMEOUT, "timeout")
    said = [entry.text for entry in engine.log(child.session_key) if isinstance(entry, AssistantEntry)]
    assert said[-1] == "waiting"
