"""The measurements. Each function returns figures and prints nothing."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

from benchmarks import publishes
from benchmarks.stage import Stage, seconds
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, UserEntry, dump_entry

Figures = dict[str, Any]


def turn_overhead(stage: Stage, *, rounds: int = 20, each: int = 25) -> Figures:
    """(a) accept to final reply event, against a raw no-op round trip. Both are interleaved, for equal conditions."""
    from benchmarks.raw import noop

    ours: list[float] = []
    raw: list[float] = []
    with stage.worker(concurrency=4), stage.raw_worker(concurrency=4):
        commands = _commands(stage)
        for number in range(rounds):
            for index in range(each):
                begun = time.perf_counter()
                stage.wait(stage.send(f"a{index % 10}"))
                ours.append(seconds(begun) * 1000)
            if number == 0:
                commands = _commands(stage) - commands
            for _ in range(each):
                begun = time.perf_counter()
                noop.delay().get(timeout=10)
                raw.append(seconds(begun) * 1000)
    a, b = statistics.median(ours), statistics.median(raw)
    return {
        "ours_ms": round(a, 2),
        "raw_ms": round(b, 2),
        "ratio": round(a / b, 2),
        "redis_commands_per_turn": round(commands / each, 1),
        "publishes_per_turn": round(_publishes(stage, each) / each, 2),
    }


def throughput(stage: Stage, *, sessions: int = 50, messages: int = 20, rounds: int = 3) -> Figures:
    """(b) turns per second over 50 sessions, against raw no-op tasks per second.

    Raw Celery acknowledges tasks, so that it keeps them. Without acknowledgements it may lose them; that figure is
    only for information.
    """
    ours: list[float] = []
    raw: list[float] = []
    total = sessions * messages
    with stage.worker(concurrency=4), stage.raw_worker(concurrency=4):
        for number in range(rounds):
            begun = time.perf_counter()
            last = [stage.send(f"b{number}-{index % sessions}") for index in range(total)][-sessions:]
            for sent in last:
                stage.wait(sent)
            ours.append(total / seconds(begun))
            raw.append(_raw_per_second(stage, total))
    with stage.raw_worker(concurrency=4, acks=False):
        unkept = [_raw_per_second(stage, total) for _ in range(rounds)]
    a, b = statistics.median(ours), statistics.median(raw)
    return {
        "ours_per_second": round(a),
        "raw_per_second": round(b),
        "ratio": round(a / b, 2),
        "raw_without_acks_per_second": round(statistics.median(unkept)),
    }


def _raw_per_second(stage: Stage, total: int) -> float:
    from benchmarks.raw import noop

    client, begun = stage.server.client(), time.perf_counter()
    for _ in range(total):
        noop.apply_async(ignore_result=True)
    while client.llen("raw") or client.hlen("unacked"):
        time.sleep(0.002)
    return total / seconds(begun)


def concurrent_turns(stage: Stage, *, turns: int = 200, rounds: int = 5) -> Figures:
    """(c) 200 one-second turns at once in one worker process: time against the ideal, memory for each.

    Measured from the first message sent to the end of the last turn, so sending counts and reading answers does not.
    Eight clients send: a single one would wait for Redis's disk with each message, and that would be measured.
    The first round also starts the pool's threads. It shows the memory per running turn, and its time is a figure of
    its own, since a worker pays it once. Raw Celery with tasks that sleep for a second shows Celery's own share.
    """
    with stage.worker(concurrency=turns) as process:
        before = process.memory_info().rss
        cold, peak = _one_second_turns(stage, process, "c", turns)
        warm = [_one_second_turns(stage, process, f"c{number}-", turns)[0] for number in range(rounds)]
    with stage.raw_worker(concurrency=turns):
        _raw_seconds(turns)
        raw = statistics.median(_raw_seconds(turns) for _ in range(rounds))
    took = statistics.median(warm)
    return {
        "seconds": round(took, 2),
        "ratio_to_ideal": round(took, 2),
        "raw_seconds": round(raw, 2),
        "cold_seconds": round(cold, 2),
        "megabytes_per_turn": round((peak - before) / turns / 1e6, 3),
    }


def _raw_seconds(tasks: int) -> float:
    """The same for raw Celery: from the first task sent to the end of the last."""
    from benchmarks.raw import second

    begun = time.time()
    with ThreadPoolExecutor(8) as clients:
        sent = list(clients.map(lambda _: second.delay(), range(tasks)))
    return float(max(each.get(timeout=30) for each in sent) - begun)


def _one_second_turns(stage: Stage, process: psutil.Process, name: str, turns: int) -> tuple[float, int]:
    """Seconds for all turns, according to the run records, and the worker's peak memory."""
    program = '{"steps": [{"delayMs": 1000, "text": "x"}]}'
    reader = stage.cli.stores.reader
    begun_ms = time.time() * 1000
    with ThreadPoolExecutor(8) as clients:
        sent = list(clients.map(lambda index: stage.send(f"{name}{index}", program), range(turns)))
    peak = 0
    while reader.running():
        peak = max(peak, process.memory_info().rss)
        time.sleep(0.05)
    for one in sent:
        stage.wait(one)
    runs = [reader.run(one.run) for one in sent if one.run is not None]
    ended_ms = [run.ended_at for run in runs if run is not None and run.ended_at is not None]
    assert len(ended_ms) == turns
    return (max(ended_ms) - begun_ms) / 1000, peak


def long_transcripts(stage: Stage, *, lengths: tuple[int, ...] = (10, 1_000, 10_000), each: int = 100) -> Figures:
    """(c2) the same turn on transcripts of different lengths; the model sees the last 16,000 tokens.

    `cpu_per_turn` measures how the cost of a turn grows with what its model sees.
    """
    figures: Figures = {}
    entry = ["The quick brown fox jumps over the lazy dog, and the dog does not mind it at all today."]
    client = stage.server.client()
    with stage.worker(concurrency=4):
        for length in lengths:
            name = f"l{length}"
            stage.wait(stage.send(name))
            block = [TextBlock(text=entry[0])]
            pair = [dump_entry(UserEntry(content=block)), dump_entry(AssistantEntry(content=[*block]))]
            client.lpush(stage.cli.stores.keys.log(SessionKey(f"agent:main:{name}")), *(pair * (length // 2)))
        times: dict[int, list[float]] = {length: [] for length in lengths}
        for _ in range(each):
            for length in lengths:
                begun = time.perf_counter()
                stage.wait(stage.send(f"l{length}"))
                times[length].append(seconds(begun) * 1000)
    for length in lengths:
        figures[f"ms_at_{length}"] = round(statistics.median(times[length]), 2)
    figures["ratio_longest_to_shortest"] = round(
        statistics.median(times[lengths[-1]]) / statistics.median(times[lengths[0]]), 2
    )
    return figures


def start_up() -> Figures:
    """(d) the time from `ocw up` to ready, and its memory then."""
    env = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "OPENCLAW_CONFIG")}
    with tempfile.TemporaryDirectory(prefix="ocw-bench-up-") as folder:
        begun = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "openclaw_workers.cli.main", "--state-dir", folder, "up", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=folder,
        )
        assert child.stdout is not None
        line = child.stdout.readline()
        took = seconds(begun)
        processes = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
        resident = {process.name(): 0 for process in processes}
        for process in processes:
            resident[process.name()] += process.memory_info().rss // 1_000_000
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)
    json.loads(line)
    return {"seconds_to_ready": round(took, 2), "resident_megabytes": sum(resident.values()), "by_name": resident}


def _publishes(stage: Stage, turns: int) -> int:
    """How many messages Celery publishes in this many turns. A separate worker counts, not a measured one."""
    client, end = stage.server.client(), publishes.count()
    try:
        with stage.worker(counted=True):
            assert int(client.get(publishes.COUNTING) or 0) > 1, "the worker is not counting"
            before = int(client.get(publishes.COUNTER) or 0)
            for index in range(turns):
                stage.wait(stage.send(f"p{index % 10}"))
            return int(client.get(publishes.COUNTER) or 0) - before
    finally:
        end()


def _commands(stage: Stage) -> int:
    stats = stage.server.client().info("commandstats")
    # Redis also counts the calls inside scripts; only commands that cross the network matter here.
    names = ("evalsha", "eval", "lpush", "brpop", "publish", "exec", "xread")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in names)
