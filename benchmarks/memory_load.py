"""`python -m benchmarks.memory_load`: the embedded index with many chunks, asked from another process.

It starts a Redis and a service worker of its own. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openclaw_workers.config.loader import load
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.memory.client import MemoryClient
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.state_dir import state_dir_id
from tests.support.fleet import Fleet

FILES, CHUNKS_PER_FILE, NEW_FILES, QUERIES = 1_180, 20, 200, 200
MAIN = Visibility("main", (), sees_all=True)


def write(folder: Path, name: str, chunks: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (
        f"- note {name} {number}: the {number * 7 % 97}. item about topic{number * 31 % 211}"
        for number in range(chunks * 23)
    )
    (folder / f"{name}.md").write_text("\n".join(lines))


def timed(search: Callable[[str, Visibility, dict[str, Any]], dict[str, Any]], count: int) -> list[float]:
    times = []
    for number in range(count):
        began = time.perf_counter()
        search(f"item topic{number} note", MAIN, {})
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)


def main() -> None:
    found: dict[str, Any] = {}
    config = {"agents": {"defaults": {"memorySearch": {"sync": {"watch": False}}}}}
    with tempfile.TemporaryDirectory() as directory, Fleet(Path(directory), config) as fleet:
        worker = fleet.worker("service")
        place = state_dir_id(fleet.state_dir)
        client = MemoryClient(fleet.stores.memory, PlaceClient(fleet.stores.place_requests), lambda: place)
        folder = fleet.workspace / "memory"
        for number in range(NEW_FILES):
            write(folder, f"new{number}", 2)
        before, used = memory_mb(worker.pid), cpu_seconds(worker.pid)
        began = time.perf_counter()
        client.search("first search", MAIN, {})
        found["firstSearchOver200FilesSeconds"] = round(time.perf_counter() - began, 2)
        found["firstSearchCpuSeconds"] = round(cpu_seconds(worker.pid) - used, 2)
        for number in range(FILES):
            write(folder, f"big{number}", CHUNKS_PER_FILE)
        report = client.sync("main")
        found |= {"chunks": client.status("main")["chunks"], "indexSeconds": round(report["milliseconds"] / 1000, 1)}
        timed(client.search, 20)
        times = timed(client.search, QUERIES)
        found |= {
            "searchMsP50": round(statistics.median(times), 2),
            "searchMsP99": round(times[int(QUERIES * 0.99)], 2),
        }
        after = memory_mb(worker.pid)
        found |= {"addedMemoryMb": after[0] - before[0], "addedAnonymousMb": after[1] - before[1]}
        found["listRoundTripMs"] = round(_round_trip(fleet), 3)
        worker.term()
        worker.wait()
        found["inProcessMsP50"] = round(statistics.median(in_process(fleet)), 2)
    print(json.dumps(found))


def memory_mb(pid: int) -> tuple[int, int]:
    """All memory of a process, and the part of it that is no cached file."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) // 1024, int(lines["RssAnon"].split()[0]) // 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; on a busy machine it says more than the time that passed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_process(fleet: Fleet) -> list[float]:
    """The same searches without another process in between."""
    loaded = load(fleet.config_path, state_dir=fleet.state_dir)
    process = WorkerState(grace_seconds=1)
    engine = WorkerEngine(
        loaded, fleet.stores, fleet.waker, process, WorkerId("bench/1/a"), default_model="offline/demo"
    )
    service = engine.memory.new_service()
    timed(service.search, 20)
    return timed(service.search, QUERIES)


def _round_trip(fleet: Fleet) -> float:
    """One question and one answer through lists, without anything in between."""
    requests, times = fleet.stores.place_requests, []
    for _ in range(QUERIES):
        began = time.perf_counter()
        request, _ = requests.ask("nowhere", "x", {})
        question = requests.next_question("nowhere")
        assert question is not None
        requests.reply(request, {"answer": {}})
        requests.next_answer(request)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
