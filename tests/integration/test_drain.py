"""`ocw drain`: a worker hands its turns over and fetches nothing, until it is undrained."""

from __future__ import annotations

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually

QUICK = program(say("well"))


def drained(fleet: Fleet) -> set[str]:
    return {worker.id for worker in fleet.stores.workers.all() if worker.facts.get("drain") == "1"}


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_drained_host_takes_no_turns_until_it_is_undrained(bare_fleet: Fleet, pool: str) -> None:
    worker, ocw = bare_fleet.worker(pool=pool, concurrency=2), Ocw(bare_fleet)
    (host,) = {each.facts["host"] for each in bare_fleet.stores.workers.all()}
    assert bare_fleet.outcome(bare_fleet.send(QUICK)).text == "well"

    answer = ocw("drain", host, "--json").json

    assert (answer["kind"], answer["drained"], answer["lanesWithoutWorkers"][0]) == ("host", True, "main")
    everyone = {each.id for each in bare_fleet.stores.workers.all()}
    eventually(lambda: drained(bare_fleet) == everyone, within=30)
    eventually(lambda: not bare_fleet.consumed_queues(), within=30)
    waiting = bare_fleet.send(QUICK, "waiting")
    # A fetch that was under way may have taken the wake-up; then the sweep publishes another one.
    eventually(lambda: bare_fleet.stores.redis.llen(bare_fleet.queue_key) == 1, within=30)
    assert ocw("status").out.count("drained") == len(everyone)
    assert worker.is_running()
    assert "all workers of lane main are drained" in ocw("agent", "--session", "asks", "--timeout", "4", "-m", "hi").err

    assert ocw("undrain", host, "--json").json["drained"] is False
    assert bare_fleet.outcome(waiting, within=30).text == "well"


def test_the_turns_of_a_drained_worker_are_handed_to_others(bare_fleet: Fleet) -> None:
    first = bare_fleet.worker()
    sent = bare_fleet.send(program(call(execute("until [ -e go ]; do sleep 0.05; done")), say("done")), "long")
    bare_fleet.carrier("long")
    (there,) = bare_fleet.stores.workers.all()
    bare_fleet.worker()

    assert Ocw(bare_fleet)("drain", there.id.rpartition("/")[0]).code == 0
    eventually(lambda: drained(bare_fleet) == {there.id}, within=30)
    (bare_fleet.workspace / "go").touch()

    outcome = bare_fleet.outcome(sent)
    assert outcome.text == "done"
    assert outcome.run is not None
    assert next(attempt.end for attempt in outcome.run.attempts) == "handover"
    assert bare_fleet.carried(outcome.run)[1] != first.pid


def test_what_cannot_be_drained_is_named(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    ocw = Ocw(bare_fleet)

    unknown, not_drained = ocw("drain", "nowhere"), ocw("undrain", "nowhere")

    assert (unknown.code, not_drained.code) == (5, 5)
    assert "no live worker or host 'nowhere'" in unknown.err
