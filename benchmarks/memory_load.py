"""`python -m benchmarks.memory_load`: the embedded index with many chunks, asked from another process.

It starts a Redis and a service worker of its own. The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from openclaw_workers.config.loader import load
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.memory.client import MemoryClient
from openclaw_workers.engine.memory.service import MemoryService
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.state_dir import state_dir_id
from tests.support.fleet import Fleet

FILES, CHUNKS_PER_FILE, NEW_FILES, QUERIES, WARM_UP = 1_180, 20, 200, 200, 20
MAIN = Visibility("main", (), sees_all=True)


def write(folder: Path, name: str, chunks: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (
        f"- note {name} {number}: the {number * 7 % 97}. item about topic{number * 31 % 211}"
        for number in range(chunks * 23)
    )
    (folder / f"{name}.md").write_text("\n".join(lines))


Search = Callable[[str, Visibility, dict[str, Any]], Any]


def timed(searches: Mapping[str, Search], count: int) -> dict[str, list[float]]:
    """Milliseconds of each way to search, in order. They take turns, so that a busy moment hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in searches}
    for number in range(count):
        for name, search in searches.items():
            began = time.perf_counter()
            search(f"item topic{number} note", MAIN, {})
            times[name].append((time.perf_counter() - began) * 1000)
    return {name: sorted(each) for name, each in times.items()}


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
        found |= indexed(client)
        found |= compared(fleet, client)
        after = memory_mb(worker.pid)
        found |= {"addedMemoryMb": after[0] - before[0], "addedAnonymousMb": after[1] - before[1]}
    print(json.dumps(found))


def indexed(client: MemoryClient) -> dict[str, Any]:
    """Index all files, and search ten times a second meanwhile."""
    times = []
    with ThreadPoolExecutor(1) as threads:
        sync = threads.submit(client.sync, "main")
        while not wait([sync], timeout=0.1).done:
            times += timed({"search": client.search}, 1)["search"]
    times.sort()
    return {
        "chunks": client.status("main")["chunks"],
        "indexSeconds": round(sync.result()["milliseconds"] / 1000, 1),
        "searchWhileIndexingMsP50": round(statistics.median(times), 2),
        "searchWhileIndexingMsP99": round(times[int(len(times) * 0.99)], 2),
    }


def memory_mb(pid: int) -> tuple[int, int]:
    """All memory of a process, and the part of it that is no cached file."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) // 1024, int(lines["RssAnon"].split()[0]) // 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; on a busy machine it says more than the time that passed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compared(fleet: Fleet, client: MemoryClient) -> dict[str, float]:
    """The same searches through the owner of the index and in this process, and a raw round trip through lists."""
    searches = {"search": client.search, "inProcess": in_process(fleet).search, "listRoundTrip": round_trip(fleet)}
    timed(searches, WARM_UP)
    times = timed(searches, QUERIES)
    middle = {f"{name}MsP50": round(statistics.median(each), 2) for name, each in times.items()}
    return {
        **middle,
        "searchMsP99": round(times["search"][int(QUERIES * 0.99)], 2),
        "goalMsP50": round(middle["inProcessMsP50"] + 2 * middle["listRoundTripMsP50"], 2),
    }


def in_process(fleet: Fleet) -> MemoryService:
    """Memory of this process, on a copy of the same files and the same index: only one process can open an index."""
    copied = fleet.state_dir.with_name("copy")
    shutil.copytree(fleet.state_dir, copied, ignore=shutil.ignore_patterns("memory.lock"))
    loaded = load(fleet.config_path, state_dir=copied)
    process = WorkerState(grace_seconds=1)
    engine = WorkerEngine(
        loaded, fleet.stores, fleet.waker, process, WorkerId("bench/1/a"), default_model="offline/demo"
    )
    service = engine.memory.new_service()
    service.sync("main")
    return service


def round_trip(fleet: Fleet) -> Search:
    """One question and one answer through lists, without anything in between."""
    requests = fleet.stores.place_requests

    def ask(query: str, visible: Visibility, asked: dict[str, Any]) -> None:
        request, _ = requests.ask("nowhere", "x", {})
        question = requests.next_question("nowhere")
        assert question is not None
        requests.reply(request, {"answer": {}})
        requests.next_answer(request)

    return ask


if __name__ == "__main__":
    main()
