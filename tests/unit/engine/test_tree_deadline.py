"""A parked child whose time is over ends at once, without another word."""

from __future__ import annotations

from openclaw_workers.models.runs import RunState
from openclaw_workers.models.transcript import AssistantEntry
from tests.support.programs import as_text, program, say, spawn
from tests.unit.engine.conftest import SESSION, House


def test_a_parked_child_found_after_its_deadline_times_out_before_any_model_call(house: House) -> None:
    middle = program(spawn(program(say("leaf"))), say("waiting"), say("one word too many"))
    house.say(as_text(program(spawn(middle), say("spawned"))))
    house.runner.run(*house.waker.turns.pop(0))
    house.runner.run(*house.waker.turns.pop(0))
    (child,) = house.stores.tree.children(SESSION)
    assert child.state is RunState.PARKED
    house.stores.redis.hset(house.stores.keys.run(child.id), "deadline_at", "1")
    house.stores.redis.zadd(house.stores.keys.due, {f"turn|{child.session_key}": 1})
    house.waker.turns.clear()

    house.sweeper.sweep()
    house.work()

    (child,) = house.stores.tree.children(SESSION)
    assert (child.state, child.reason) == (RunState.TIMEOUT, "timeout")
    said = [entry.text for entry in house.log(child.session_key) if isinstance(entry, AssistantEntry)]
    assert said[-1] == "waiting"
