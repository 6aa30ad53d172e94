"""Random kill -9 of workers while many sessions receive messages. The printed seed repeats the same choices."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise

from openclaw_workers.domain.accepted import Queued
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.programs import Program, call, mark, program, say, write
from tests.support.waiting import eventually


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """How many messages are sent, and how many workers are killed meanwhile."""

    sessions: int = 50
    messages: int = 1_000
    kills: int = 6
    workers: int = 2
    concurrency: int = 8
    seed: int = field(default_factory=lambda: random.randrange(10**6))

    def config(self, mode: str) -> dict[str, object]:
        return {
            # Random kills may hit one turn more often than a poison turn is retried. Allow for that.
            "engine": {"leaseSeconds": 1.0, "maxAttempts": self.kills + 1},
            "messages": {"queue": {"mode": mode, "cap": min(self.messages, 1000), "debounceMs": 100}},
        }


@dataclass(frozen=True, slots=True)
class ChaosReport:
    sent: list[Queued]
    marks: list[str]
    """Files of `programs.mark`: each run of the call appends a line."""


def run_chaos(fleet: Fleet, plan: ChaosPlan) -> ChaosReport:
    """Send all messages and kill workers meanwhile; returns right after the last message and the last kill."""
    sys.stdout.write(f"seed {plan.seed}\n")
    rng = random.Random(plan.seed)
    workers = [fleet.worker(concurrency=plan.concurrency, respawn=True, wait=False) for _ in range(plan.workers)]
    report = ChaosReport([], [])
    for first, last in pairwise(plan.messages * kill // plan.kills for kill in range(plan.kills + 1)):
        # Wait for all workers, so that no kill hits a worker that is still starting.
        fleet.ready(*workers)
        fatal = rng.randrange(first, last)
        for number in range(first, last):
            session = f"s{rng.randrange(plan.sessions)}"
            report.sent.append(fleet.send(_message(rng, f"{session}-{number}", report.marks), session))
            if number == fatal:
                time.sleep(rng.uniform(0, 0.2))  # random on purpose: the kill may come at any moment
                _replace(rng.choice(workers))
    return report


def _replace(victim: WorkerProcess) -> None:
    so_far = victim.respawns
    victim.kill()
    eventually(lambda: victim.respawns > so_far, within=30)


def _message(rng: random.Random, name: str, marks: list[str]) -> Program:
    """Mostly plain answers, some of them slow; some turns use a tool first."""
    delay_ms = rng.choice([0, 0, 20, 100])
    match rng.randrange(10):
        case 0:
            marks.append(name)
            # The tool sleeps after its effect, so that some kills fall in between (I5).
            return program(call(mark(name, then="sleep 0.2"), delay_ms=delay_ms), say(name))
        case 1:
            return program(call(write(name, name)), say(name, delay_ms=delay_ms))
        case _:
            return program(say(name, delay_ms=delay_ms))
