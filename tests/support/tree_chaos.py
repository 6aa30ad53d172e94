"""Random trees in a fleet whose workers are killed and paused at random.

OCW_SEED sets the seed. It repeats the trees exactly; which runs the faults hit depends on timing.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import Cleanup
from openclaw_workers.errors import NotFound
from tests.support.fleet import Fleet, WorkerProcess
from tests.support.programs import Call, Program, Step, as_text, call, mark, program, say
from tests.support.tree import children_of

LANES = ("main", "main", "subagent", "subagent", "service")
IGNORING_TICKS = (1, 3)
"""One worker of each turn lane ignores its ticker, so that only the scripts keep it from writing."""


@dataclass(frozen=True, slots=True)
class TreeChaosPlan:
    """How many trees are started, and how long faults last."""

    trees: int = 30
    seconds: float = 60
    interventions: int = 12
    follow_ups: int = 24
    seed: int = field(default_factory=lambda: int(os.environ.get("OCW_SEED") or random.randrange(10**6)))

    def config(self) -> dict[str, Any]:
        return {
            # Random kills may hit one run more often than a poison run is retried. Allow for that.
            "engine": {"leaseSeconds": 1.0, "maxAttempts": 1000},
            "agents": {"defaults": {"subagents": {"maxSpawnDepth": 3, "maxTreeRuns": 15, "maxChildrenPerAgent": 4}}},
        }


@dataclass(slots=True)
class ChaosReport:
    """The messages that were sent, and what was done to the trees."""

    sent: list[Queued] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    stopped: set[RunId] = field(default_factory=set)
    reset_or_deleted: set[SessionKey] = field(default_factory=set)
    """Sessions that were reset or deleted."""
    follow_ups: list[Queued] = field(default_factory=list)
    """Messages to children that had settled."""
    interventions: int = 0
    kills: int = 0
    pauses: int = 0


class TreeBuilder:
    """Builds random trees. The metadata of each child says how it should end."""

    def __init__(self, rng: random.Random, marks: list[str]) -> None:
        self._rng = rng
        self._marks = marks
        self._names = 0

    def answer(self) -> Program:
        """A message for a child, with an answer that no other message has."""
        return program(say(self._named("answer"), delay_ms=self._delay()))

    def tree(self) -> Program:
        return program(*self._steps(3, spawning=True))

    def _steps(self, depth: int, *, spawning: bool, fail: bool = False) -> list[Step]:
        rng = self._rng
        steps: list[Step] = []
        if rng.random() < 0.3:
            self._marks.append(self._named("mark"))
            steps.append(call(mark(self._marks[-1]), text="marked"))
        for _ in range(rng.choice([1, 1, 2]) if spawning else 0):
            children = [self._child(depth - 1) for _ in range(rng.choice([1, 2, 2, 3]))]
            steps.append(call(*children))
            if rng.random() < 0.4:
                steps.append(call(self._message_to(rng.choice(children))))
        if fail:
            return [*steps, {"fail": "format", "delayMs": self._delay()}]
        first = say("first", delay_ms=self._delay())
        if spawning and rng.random() < 0.3:
            first = call({"tool": "sessions_yield", "input": {"message": "yielded"}}, delay_ms=self._delay())
        return [*steps, first, say("second", delay_ms=self._delay())]

    def _child(self, depth: int) -> Call:
        rng = self._rng
        plan = rng.choices(["ok", "error", "timeout"], [8, 1, 1])[0]
        steps = self._steps(depth, spawning=depth > 0 and rng.random() < 0.4, fail=plan == "error")
        options: dict[str, Any] = {
            "label": self._named("child"),
            "announce": rng.choices(["batch", "each", "none"], [6, 2, 1])[0],
            "wakeOnDescendantSettle": rng.random() < 0.8,
            "cleanup": rng.choices(["keep", "delete"], [4, 1])[0],
            "metadata": {"plan": plan},
        }
        if plan == "timeout":
            steps = [*steps[:-2], say("too late", delay_ms=600_000)]
            options["runTimeoutSeconds"] = rng.choice([1, 3])
        return {"tool": "sessions_spawn", "input": {"task": as_text(program(*steps)), **options}}

    def _message_to(self, child: Call) -> Call:
        """A parent's message to a running or ended child; the parent waits for some of the answers."""
        label, message = child["input"]["label"], as_text(self.answer())
        action = self._rng.choice(["wait", "wait", "send", "steer"])
        if action == "wait":
            seconds = self._rng.choice([0, 1, 4, 10])
            return {"tool": "sessions_send", "input": {"label": label, "message": message, "timeoutSeconds": seconds}}
        return {"tool": "subagents", "input": {"action": action, "target": label, "message": message}}

    def _named(self, what: str) -> str:
        self._names += 1
        return f"{what}-{self._names}"

    def _delay(self) -> int:
        return self._rng.choice([0, 100, 500, 1500])


def run_chaos(fleet: Fleet, plan: TreeChaosPlan) -> ChaosReport:
    """Start the trees while workers of all lanes are killed and paused; returns when all workers run again."""
    sys.stdout.write(f"seed {plan.seed}\n")
    rng, report = random.Random(plan.seed), ChaosReport()
    builder = TreeBuilder(rng, report.marks)
    trees = [builder.tree() for _ in range(plan.trees)]
    workers = [
        fleet.worker(lane, concurrency=16, respawn=True, ignores_ticks=number in IGNORING_TICKS, wait=False)
        for number, lane in enumerate(LANES)
    ]
    fleet.ready(*workers)
    begun = time.monotonic()
    while (age := time.monotonic() - begun) < plan.seconds:
        # All trees are started well before the end, so that every fault can hit one.
        due = min(plan.trees, int(1 + plan.trees * age / (plan.seconds * 0.6)))
        for number in range(len(report.sent), due):
            report.sent.append(fleet.send(trees[number], f"tree-{number}"))
        if report.interventions < plan.interventions * age / plan.seconds:
            _intervene(fleet, rng, report)
        if len(report.follow_ups) < plan.follow_ups * age / plan.seconds:
            _send_follow_up(fleet, rng, builder, report)
        _kill_or_pause(fleet, workers, rng, report)
        time.sleep(rng.uniform(0.2, 1.0))  # random on purpose: a fault may come at any moment
    for worker in workers:
        worker.resume()
    fleet.ready(*workers)
    return report


def _kill_or_pause(fleet: Fleet, workers: list[WorkerProcess], rng: random.Random, report: ChaosReport) -> None:
    """Kill or pause one worker, preferably a busy one; never one that is still starting."""
    up = [worker for worker in workers if worker.log_text().count("worker.ready") > worker.respawns]
    if not up:
        return
    (worker,) = rng.choices(up, [1 + 3 * fleet.carries(each) for each in up])
    if report.kills <= report.pauses:
        report.kills += 1
        worker.kill()
    else:
        # Some pauses outlast the lease or the wait for a chord: others have done the work when it resumes.
        report.pauses += 1
        worker.pause()
        threading.Timer(rng.choice([0.3, 1.5, 4.0]), worker.resume).start()


def _send_follow_up(fleet: Fleet, rng: random.Random, builder: TreeBuilder, report: ChaosReport) -> None:
    """Send a message to a settled child that is kept: it runs again, and its parent gets an announce."""
    settled = [run for run in children_of(fleet.stores) if run.settled_at is not None and run.cleanup is Cleanup.KEEP]
    kept = [run.session_key for run in settled if fleet.stores.reader.session(run.session_key) is not None]
    if kept:
        report.follow_ups.append(fleet.send(builder.answer(), rng.choice(kept)))


def _intervene(fleet: Fleet, rng: random.Random, report: ChaosReport) -> None:
    """Do what a person might do to a running tree: stop a child, delete one, or reset the root."""
    unsettled = [run for run in children_of(fleet.stores) if run.settled_at is None]
    if not unsettled:
        return
    victim: Run = rng.choice(unsettled)
    report.interventions += 1
    match rng.randrange(4):
        case 0 if victim.root_session_key is not None:
            report.reset_or_deleted.add(victim.root_session_key)
            fleet.control.reset(victim.root_session_key)
        case 1:
            report.reset_or_deleted.add(victim.session_key)
            # Its parent may have deleted it meanwhile.
            with suppress(NotFound):
                fleet.control.delete(victim.session_key)
        case _:
            report.stopped.add(victim.id)
            fleet.control.stop_session(victim.session_key)
