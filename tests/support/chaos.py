"""Random kill -9 of workers while many sessions are spoken to; the seed is printed, and repeats the same choices."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise

from openclaw_workers.engine.intake.accept import Queued
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.programs import Program, call, mark, program, say, write
from tests.support.waiting import eventually


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """How much is said, and how often a worker dies of it."""

    sessions: int = 50
    messages: int = 1_000
    kills: int = 6
    workers: int = 2
    concurrency: int = 8
    seed: int = field(default_factory=lambda: random.randrange(10**6))

    def config(self, mode: str) -> dict[str, object]:
        return {
            # Killed at random, a turn may die more often than a poison turn is allowed to. These are innocent.
            "engine": {"leaseSeconds": 1.0, "maxAttempts": self.kills + 1},
            "messages": {"queue": {"mode": mode, "cap": self.messages, "debounceMs": 100}},
        }


@dataclass(frozen=True, slots=True)
class ChaosReport:
    sent: list[Queued]
    marks: list[str]
    """Files that `programs.mark` was told to append to, one line for each time the call was run."""


def run_chaos(fleet: Fleet, plan: ChaosPlan) -> ChaosReport:
    """Send all messages while workers are killed; returns just after the last of both."""
    sys.stdout.write(f"seed {plan.seed}\n")
    rng = random.Random(plan.seed)
    workers = [fleet.worker(concurrency=plan.concurrency, respawn=True, wait=False) for _ in range(plan.workers)]
    report = ChaosReport([], [])
    for first, last in pairwise(plan.messages * kill // plan.kills for kill in range(plan.kills + 1)):
        # All are up again, so that each kill hits work and not a worker that is still starting.
        fleet.ready(*workers)
        fatal = rng.randrange(first, last)
        for number in range(first, last):
            session = f"s{rng.randrange(plan.sessions)}"
            report.sent.append(fleet.send(_message(rng, f"{session}-{number}", report.marks), session))
            if number == fatal:
                time.sleep(rng.uniform(0, 0.2))  # chance, not synchronisation: any moment to die will do
                _replace(rng.choice(workers))
    return report


def _replace(victim: WorkerProcess) -> None:
    so_far = victim.respawns
    victim.kill()
    eventually(lambda: victim.respawns > so_far, within=30)


def _message(rng: random.Random, name: str, marks: list[str]) -> Program:
    """Mostly answers, some of them slow; some turns use a tool first."""
    delay_ms = rng.choice([0, 0, 20, 100])
    match rng.randrange(10):
        case 0:
            marks.append(name)
            # It lasts after its effect, so that some die in between (I5).
            return program(call(mark(name, then="sleep 0.2"), delay_ms=delay_ms), say(name))
        case 1:
            return program(call(write(name, name)), say(name, delay_ms=delay_ms))
        case _:
            return program(say(name, delay_ms=delay_ms))
