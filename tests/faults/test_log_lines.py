"""Every line of a worker's log has the same format, also during shutdown."""

from __future__ import annotations

import json
import re

import pytest

from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet
from tests.support.programs import crash, program, say
from tests.support.waiting import eventually

OUR_LINE = re.compile(r'\d\d:\d\d:\d\d (?:[A-Z]+ )?\w+\.\w+(?: \w+=(?:"(?:[^"\\]|\\.)*"|[^\s"=]+))*')
TURN_PROCESSES = {"threads": 1, "prefork": 4}
"""Processes that run turns: with prefork each child of the pool is one."""

both_pools = pytest.mark.parametrize("pool", ["threads", "prefork"])


@both_pools
def test_a_worker_that_gets_sigterm_during_a_turn_logs_only_in_our_format(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker(pool=pool)
    fleet.send(program(say("never", delay_ms=60_000)))
    fleet.carrier()

    worker.term()
    assert worker.wait() == 0

    lines = worker.log_text().splitlines()
    assert [line for line in lines if not OUR_LINE.fullmatch(line)] == []
    assert sum(" worker.leaving " in line for line in lines) == TURN_PROCESSES[pool]
    assert sum(" run.released " in line for line in lines) == 1


def test_every_log_line_names_a_run_by_the_same_fields(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({"engine": {"maxAttempts": 1}})
    first = fleet.worker(OPENCLAW_LOG_FORMAT="json")
    sent = [fleet.send(program(crash())), fleet.send(program(say("found")), "lost", lose_wake_up=True)]
    first.wait()
    second = fleet.worker(OPENCLAW_LOG_FORMAT="json")
    fleet.outcomes(sent)
    # Both are logged after the commit.
    eventually(lambda: all(f"run.{how}" in second.log_text() for how in ("given_up", "ended")), within=20)

    lines = [json.loads(line) for line in second.log_text().splitlines()]
    by_event = {line["event"]: line for line in lines if line["event"].startswith("run.")}
    assert {"run.given_up", "run.woken", "run.ended"} <= by_event.keys()
    assert all({"runId", "sessionKey", "agentId", "runKind", "lane"} <= line.keys() for line in by_event.values())
    assert not any({"run_id", "session_key"} & line.keys() for line in lines)


@both_pools
def test_an_idle_worker_that_leaves_before_its_next_tick_logs_that(make_fleet: MakeFleet, pool: str) -> None:
    fleet = make_fleet()
    worker = fleet.worker(pool=pool, OPENCLAW_LOG_FORMAT="json")

    worker.term()
    assert worker.wait() == 0

    lines = [json.loads(line) for line in worker.log_text().splitlines()]
    events = [line["event"] for line in lines]
    assert events.count("worker.leaving") == TURN_PROCESSES[pool]
