"""An installed plugin and the logs report sub-agents."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.support.fleet import Fleet, session_key
from tests.support.programs import program, say, spawn
from tests.support.waiting import eventually

PLUGIN = """
import json, os

class Plugin:
    def _note(self, hook, record):
        with open(os.environ["NOTES"], "a") as file:
            file.write(json.dumps([hook, record]) + "\\n")

    def subagent_spawned(self, record):
        self._note("spawned", record)

    def subagent_ended(self, record):
        self._note("ended", record)
        raise RuntimeError("a plugin that fails changes nothing")

plugin = Plugin()
"""


def install(folder: Path) -> None:
    """Install a package as pip does: a module, and metadata with its entry point."""
    info = folder / "noting-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "noting.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[openclaw_workers.plugins]\nnoting = noting:plugin\nbroken = noting:missing\n"
    )


def notes(path: Path) -> list[tuple[str, dict[str, Any]]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [(hook, record) for hook, record in map(json.loads, lines)]


def fields(line: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", line))


def test_a_plugin_gets_each_child_and_log_lines_name_its_tree(bare_fleet: Fleet, tmp_path: Path) -> None:
    # Given workers with an installed plugin
    install(tmp_path / "installed")
    heard = tmp_path / "notes.jsonl"
    path = os.pathsep.join([str(tmp_path / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])])
    workers = [
        bare_fleet.worker(lane, wait=False, PYTHONPATH=path, NOTES=str(heard))
        for lane in ("main", "subagent", "service")
    ]
    bare_fleet.ready(*workers)

    # When a child is spawned and ends
    queued = bare_fleet.send(program(spawn(program(say("done")), label="one"), say("spawned"), say("heard")))
    eventually(lambda: len(notes(heard)) == 2, within=30)

    # Then the plugin got both events, with the record
    (first, spawned), (second, ended) = notes(heard)
    assert (first, second) == ("spawned", "ended")
    assert spawned["id"] == ended["id"]
    assert (ended["label"], ended["state"], ended["text"]) == ("one", "ok", "done")
    eventually(lambda: "hook.failed" in bare_fleet.logs(), within=10)
    assert "plugin.problem" in bare_fleet.logs()

    # And the child's log lines have its place in the tree
    child = bare_fleet.run(ended["id"])
    line = eventually(
        lambda: next((each for each in workers[1].log_text().splitlines() if "run.ended" in each), None), within=10
    )
    row = bare_fleet.stores.reader.row(child.session_key)
    assert {name: fields(line).get(name) for name in ("runId", "sessionKey", "sessionId", "agentId")} == {
        "runId": child.id,
        "sessionKey": child.session_key,
        "sessionId": row["sessionId"],
        "agentId": "main",
    }
    assert {name: fields(line).get(name) for name in ("runKind", "lane", "parentRunId")} == {
        "runKind": "subagent",
        "lane": "subagent",
        "parentRunId": child.parent_run_id,
    }
    assert bare_fleet.stores.reader.session(session_key("main")) is not None
    assert queued.session_key == child.requester_session_key
