"""Measurements through the wire-level server and the real SDKs, for each of the three APIs."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import psutil

from benchmarks.raw import noop
from benchmarks.stage import APIS, Stage
from benchmarks.trees import fan_seconds, parents
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, UserEntry, dump_entry
from tests.support.wire import Called, Recorded, Reply

Figures = dict[str, Any]

SESSIONS = {10: 20, 400: 2, 2000: 2}
"""Visible entries, and the number of sessions that share the turns, since each turn adds two entries."""
TURNS = 60
"""Turns of one length in one round."""
RAW_TASKS = 200
SAID = "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all today. " * 2
PER_MILLI = 1000


def cpu_per_turn(stage: Stage, *, rounds: int = 5) -> Figures:
    """(g) processor time of a turn by the number of visible entries, against the minimum.

    The minimum is a bare HTTP call with the same body plus an empty raw Celery task. It counts the time of the worker
    process and of the calling thread, not that of the model server.
    """
    _fill(stage)
    figures: Figures = {}
    with stage.raw_worker(concurrency=4) as raw, stage.worker(concurrency=4) as process:
        for api in APIS:
            for length, sessions in SESSIONS.items():
                _turns(stage, api, length, 2 * sessions)
        for api in APIS:
            figures |= _cpu_of(stage, process, raw, api, rounds)
    return figures


def _cpu_of(stage: Stage, ours: psutil.Process, raw: psutil.Process, api: str, rounds: int) -> Figures:
    """Each round measures all three, for equal conditions."""
    times: dict[int, list[float]] = {length: [] for length in SESSIONS}
    ratios: dict[int, list[float]] = {length: [] for length in SESSIONS}
    for _ in range(rounds):
        raw_ms = _cpu_ms(raw, _raw_tasks) / RAW_TASKS
        for length in SESSIONS:
            ms = _cpu_ms(ours, partial(_turns, stage, api, length, TURNS)) / TURNS
            times[length].append(ms)
            ratios[length].append(ms / (raw_ms + _bare_ms(stage.models.requests[-1], stage)))
            stage.models.requests.clear()
    figures = {f"{api}_ms_at_{length}": round(statistics.median(each), 2) for length, each in times.items()}
    figures |= {f"{api}_ratio_at_{length}": round(statistics.median(each), 2) for length, each in ratios.items()}
    for length in (400, 2000):
        growth = (long / short for long, short in zip(times[length], times[10], strict=True))
        figures[f"{api}_growth_to_{length}"] = round(statistics.median(growth), 2)
    return figures


def _raw_tasks() -> None:
    for _ in range(RAW_TASKS):
        noop.delay().get(timeout=10)


def _fill(stage: Stage) -> None:
    """Create the sessions. Their worker ends before the measurement, so that no worker has cached a transcript."""
    block = [TextBlock(text=SAID)]
    pair = [dump_entry(UserEntry(content=block)), dump_entry(AssistantEntry(content=[*block]))]
    client, keys = stage.server.client(), stage.cli.stores.keys
    with stage.worker(concurrency=4):
        for api in APIS:
            for length, sessions in SESSIONS.items():
                _turns(stage, api, length, sessions)
                for index in range(sessions):
                    key = keys.log(SessionKey(f"agent:{api}:{length}-{index}"))
                    client.lpush(key, *(pair[::-1] * (length // 2)))


def _turns(stage: Stage, api: str, length: int, turns: int) -> None:
    for number in range(turns):
        stage.wait(stage.send(f"{length}-{number % SESSIONS[length]}", SAID, agent=api))


def _cpu_ms(process: psutil.Process, work: Callable[[], None]) -> float:
    before = process.cpu_times()
    work()
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) * PER_MILLI


def _bare_ms(like: Recorded, stage: Stage, *, calls: int = 20) -> float:
    """The same request with httpx2 alone."""
    with httpx2.Client() as client:
        times = []
        for _ in range(calls):
            begun = time.thread_time()
            with client.stream("POST", f"{stage.models.url}{like.path}", json=like.body) as response:
                response.read()
            times.append((time.thread_time() - begun) * PER_MILLI)
    return statistics.median(times)


def connections(stage: Stage, *, calls: int = 30) -> Figures:
    """(h) connections that consecutive calls need."""
    figures: Figures = {}
    with stage.worker(concurrency=4):
        for api in APIS:
            stage.models.requests.clear()
            for _ in range(calls):
                stage.wait(stage.send("connections", "hello", agent=api))
            figures[f"{api}_connections"] = len({request.connection for request in stage.models.requests})
    return figures


def busy_sessions(stage: Stage, *, sessions: int = 50, messages: int = 4, rounds: int = 3) -> Figures:
    """(i) 200 messages over 50 sessions with a one-second model; ideal are as many seconds as messages per session."""
    figures: Figures = {}
    stage.models.answer = lambda _: Reply("ok", delay_seconds=1)
    with stage.worker(concurrency=sessions):
        for api in APIS:
            _busy(stage, api, f"{api}-warm-up", sessions, 1)
            times = [_busy(stage, api, f"{api}-{number}", sessions, messages) for number in range(rounds)]
            figures[f"{api}_ratio"] = round(statistics.median(times) / messages, 3)
    stage.models.answer = lambda _: Reply("ok")
    return figures


def _busy(stage: Stage, api: str, name: str, sessions: int, messages: int) -> float:
    begun_ms = time.time() * PER_MILLI
    with ThreadPoolExecutor(8) as clients:
        each = [f"{name}-{index}" for _ in range(messages) for index in range(sessions)]
        sent = list(clients.map(lambda session: stage.send(session, "hello", agent=api), each))
    for one in sent:
        stage.wait(one)
    ended = [run.ended_at or 0 for run in stage.cli.stores.reader.runs(limit=len(sent))]
    stage.models.requests.clear()
    return (max(ended) - begun_ms) / PER_MILLI


def wired_fan_out(stage: Stage, *, rounds: int = 3) -> Figures:
    """(j) from the first spawn until each parent reads its announce; one-second children, a slot for each."""
    figures: Figures = {}
    stage.models.answer = _parent_and_children
    with stage.worker(lane="subagent", concurrency=32), stage.worker(lane="service"), stage.worker():
        for api in APIS:
            _fan(stage, api, f"{api}-warm-up", 32)
            for children in (8, 32):
                times = [_fan(stage, api, f"{api}-{children}-{number}", children) for number in range(rounds)]
                figures[f"{api}_ratio_at_{children}"] = round(statistics.median(times), 3)
    stage.models.answer = lambda _: Reply("ok")
    return figures


def _fan(stage: Stage, api: str, name: str, children: int) -> float:
    counts = enumerate(parents(children))
    fan = [stage.send(f"{name}-{at}", f"spawn {count} children", agent=api) for at, count in counts]
    seconds = fan_seconds(stage, fan)
    stage.models.requests.clear()
    return seconds


def _parent_and_children(request: Recorded) -> Reply:
    """A parent that spawns the requested number of children; each child takes a second."""
    said = json.dumps((request.body.get("messages") or request.body["input"])[-1])
    if "[Subagent Task]" in said:
        return Reply("done", delay_seconds=1)
    if "spawn " not in said or "tool" in said or "function_call_output" in said:
        return Reply("ok")
    count = int(said.split("spawn ")[1].split()[0])
    return Reply(calls=[Called("sessions_spawn", {"task": "work"}, id=f"call_{index}") for index in range(count)])
