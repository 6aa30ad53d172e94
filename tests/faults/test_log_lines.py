"""A worker's log is one format from its first line to its last, also when it is told to leave."""

from __future__ import annotations

import json
import re

import pytest

from openclaw_workers.config.loader import ACCEPT_OPTION
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet
from tests.support.programs import crash, program, say
from tests.support.waiting import eventually

OUR_LINE = re.compile(r'\d\d:\d\d:\d\d (?:[A-Z]+ )?\w+\.\w+(?: \w+=(?:"(?:[^"\\]|\\.)*"|[^\s"=]+))*')
CARRIERS = {"threads": 1, "prefork": 4}
"""Processes that run turns: with prefork each child of the pool is one."""

both_pools = pytest.mark.parametrize("pool", ["threads", "prefork"])


@both_pools
def test_a_worker_told_to_leave_in_mid_turn_writes_only_lines_of_our_format(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker(pool=pool)
    fleet.send(program(say("never", delay_ms=60_000)))
    fleet.carrier()

    worker.term()
    assert worker.wait() == 0

    lines = worker.log_text().splitlines()
    assert [line for line in lines if not OUR_LINE.fullmatch(line)] == []
    assert sum(" worker.leaving " in line for line in lines) == CARRIERS[pool]
    assert sum(" run.released " in line for line in lines) == 1


def test_a_run_is_named_by_the_same_fields_on_every_line(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({"engine": {"maxAttempts": 1}})
    first = fleet.worker(OPENCLAW_LOG_FORMAT="json")
    sent = [fleet.send(program(crash())), fleet.send(program(say("found")), "lost", lose_wake_up=True)]
    first.wait()
    second = fleet.worker(OPENCLAW_LOG_FORMAT="json")
    fleet.outcomes(sent)
    eventually(lambda: "run.given_up" in second.log_text(), within=10)  # it is logged after the commit

    lines = [json.loads(line) for line in second.log_text().splitlines()]
    told = {line["event"]: line for line in lines if line["event"].startswith("run.")}
    assert {"run.given_up", "run.woken", "run.ended"} <= told.keys()
    assert all({"runId", "sessionKey", "agentId", "runKind", "lane"} <= line.keys() for line in told.values())
    assert not any({"run_id", "session_key"} & line.keys() for line in lines)


@both_pools
def test_an_idle_worker_that_leaves_before_its_next_tick_says_so_all_the_same(make_fleet: MakeFleet, pool: str) -> None:
    fleet = make_fleet({"tools": {"deny": ["exec"]}})
    worker = fleet.worker(pool=pool, options=[ACCEPT_OPTION], OPENCLAW_LOG_FORMAT="json")

    worker.term()
    assert worker.wait() == 0

    lines = [json.loads(line) for line in worker.log_text().splitlines()]
    events = [line["event"] for line in lines]
    assert events.count("worker.leaving") == CARRIERS[pool]
    # What was set and is not in effect is told once, whatever the pool.
    assert [line["setting"] for line in lines if line["event"] == "setting.pending"] == ["tools.deny"]
