"""Celery's commands to workers, from Flower or `celery control`: they do what they say, or say what to do instead."""

from __future__ import annotations

import pytest

from tests.support.fleet import Fleet
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually

GO = "until [ -e go ]; do sleep 0.05; done"


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_shutdown_hands_the_turns_over_as_sigterm_does(bare_fleet: Fleet, pool: str) -> None:
    first = bare_fleet.worker(pool=pool, concurrency=1)
    sent = bare_fleet.send(program(call(execute(GO)), say("done")), "long")
    bare_fleet.carrier("long")

    bare_fleet.tell_workers("shutdown")
    bare_fleet.worker()
    eventually(lambda: not first.is_running(), within=60)
    (bare_fleet.workspace / "go").touch()

    outcome = bare_fleet.outcome(sent)
    assert outcome.text == "done"
    assert outcome.run is not None
    assert next(attempt.end for attempt in outcome.run.attempts) == "handover"
    assert "Traceback" not in first.log_text()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_what_a_pool_cannot_do_is_answered_without_a_traceback(bare_fleet: Fleet, pool: str) -> None:
    worker = bare_fleet.worker(pool=pool, concurrency=1)

    def answer(command: str, **given: object) -> str:
        (reply,) = bare_fleet.tell_workers(command, **given)
        return str(reply.get("error") or reply.get("ok"))

    assert "restart the worker" in answer("pool_restart")
    assert "lanes.LANE.concurrency" in answer("autoscale", max=2, min=1)
    grown = "pool will grow" if pool == "prefork" else "lanes.LANE.concurrency"
    assert grown in answer("pool_grow", n=1)
    assert "agents.defaults.timeoutSeconds" in answer("time_limit", task_name="openclaw.turn", soft=1, hard=1)
    assert "lanes.LANE.maxConcurrent" in answer("rate_limit", task_name="openclaw.turn", rate_limit="1/h")
    assert "Traceback" not in worker.log_text()
    assert [bare_fleet.outcome(bare_fleet.send(program(say("well")))).text for _ in range(2)] == ["well", "well"]
