"""`python -m benchmarks.memory_load`: the embedded index with many chunks, asked from another process.

It starts a Redis and a service worker of its own. The last line is one JSON object.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from openclaw_workers.engine.memory.client import MemoryClient
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.state_dir import state_dir_id
from tests.support.fleet import Fleet

FILES, CHUNKS_PER_FILE, NEW_FILES, QUERIES = 1_000, 20, 200, 200
MAIN = Visibility("main", (), sees_all=True)


def write(folder: Path, name: str, chunks: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (
        f"- note {name} {number}: the {number * 7 % 97}. item about topic{number * 31 % 211}"
        for number in range(chunks * 23)
    )
    (folder / f"{name}.md").write_text("\n".join(lines))


def timed(client: MemoryClient, count: int) -> list[float]:
    times = []
    for number in range(count):
        began = time.perf_counter()
        client.search(f"item topic{number} note", MAIN, {})
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)


def main() -> None:
    found: dict[str, Any] = {}
    config = {"agents": {"defaults": {"memorySearch": {"sync": {"watch": False}}}}}
    with tempfile.TemporaryDirectory() as directory, Fleet(Path(directory), config) as fleet:
        worker = fleet.worker("service")
        place = state_dir_id(fleet.state_dir)
        client = MemoryClient(fleet.stores.memory, lambda: place)
        folder = fleet.workspace / "memory"
        for number in range(NEW_FILES):
            write(folder, f"new{number}", 2)
        process = psutil.Process(worker.pid)
        before = process.memory_info().rss
        began = time.perf_counter()
        client.search("first search", MAIN, {})
        found["firstSearchOver200FilesSeconds"] = round(time.perf_counter() - began, 2)
        for number in range(FILES):
            write(folder, f"big{number}", CHUNKS_PER_FILE)
        report = client.sync("main")
        found |= {"chunks": client.status("main")["chunks"], "indexSeconds": round(report["milliseconds"] / 1000, 1)}
        timed(client, 20)
        times = timed(client, QUERIES)
        found |= {
            "searchMsP50": round(statistics.median(times), 2),
            "searchMsP99": round(times[int(QUERIES * 0.99)], 2),
        }
        found["addedMemoryMb"] = round((process.memory_info().rss - before) / 2**20)
        found["listRoundTripMs"] = round(_round_trip(fleet), 3)
    print(json.dumps(found))


def _round_trip(fleet: Fleet) -> float:
    """One question and one answer through lists, without anything in between."""
    requests, times = fleet.stores.memory, []
    for _ in range(QUERIES):
        began = time.perf_counter()
        request = requests.ask("nowhere", "x", {})
        question = requests.next_question("nowhere")
        assert question is not None
        requests.reply(request, {"answer": {}})
        requests.next_answer(request)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
