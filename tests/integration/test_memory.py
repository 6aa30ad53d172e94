"""Memory from end to end with the offline model: told a fact, /new, asked later in another worker process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.waiting import eventually

DEMO = {"agents": {"defaults": {"model": "offline/demo"}}}


def test_a_fact_is_recalled_with_its_source_after_a_reset_by_another_worker(tmp_path: Path) -> None:
    with Fleet(tmp_path, DEMO) as fleet:
        first, _ = fleet.worker("main", wait=False), fleet.worker("service", wait=False)
        fleet.ready()
        reported = fleet.outcome(fleet.send("remember that my boat is called Perihelion"), within=60)
        assert reported.text.endswith("Saved to MEMORY.md#L1.")
        fleet.outcome(fleet.send("hello, the keys of the garage are under the blue pot"), within=60)
        fleet.command("/new")
        notes = fleet.workspace / "memory"
        eventually(lambda: list(notes.glob("*.md")), within=30)
        first.term()
        assert first.wait() == 0
        fleet.worker("main")

        boat = fleet.outcome(fleet.send("what is my boat called?"), within=60).text
        keys = fleet.outcome(fleet.send("do you remember the keys of the garage?"), within=60).text

        assert "my boat is called Perihelion" in boat
        assert boat.endswith("Source: MEMORY.md#L1")
        assert "under the blue pot" in keys
        assert "Source: " in keys
        found = Ocw(fleet)("memory", "search", "boat", "--json", within=60).json
        assert found["results"][0]["citation"] == "MEMORY.md#L1"


def test_workers_and_commands_start_without_the_index_and_the_embedder() -> None:
    modules = "openclaw_workers.tasks.worker, openclaw_workers.cli.commands.memory"
    heavy = "{'qdrant_edge', 'qdrant_client', 'wordllama', 'numpy'}"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
