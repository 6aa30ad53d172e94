"""`ocw logs`: the lines of all local processes in the order of time, filtered, and as they are written."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw, finish

MAIN = """2026-11-17 22:12:12 worker.ready lane=main
2026-11-17 22:12:17 run.ended state=ok runId=run-1
Traceback (most recent call last):
"""
INGRESS = "2026-11-17 22:12:14 ingress.started url=http://127.0.0.1:18789\n"


@pytest.fixture
def folder(live_fleet: Fleet) -> Path:
    folder = live_fleet.state_dir / "logs"
    folder.mkdir(exist_ok=True)
    (folder / "worker-main.log").write_text(MAIN)
    (folder / "ingress.log").write_text(INGRESS)
    return folder


def test_lines_of_all_processes_come_in_the_order_of_time(folder: Path, ocw_cli: Ocw) -> None:
    lines = [line.split(maxsplit=1) for line in ocw_cli("logs").out.splitlines()]
    assert [name for name, _ in lines] == ["worker-main", "ingress", "worker-main", "worker-main"]
    assert lines[-1][1].startswith("Traceback"), "it belongs to the line above it"


def test_lines_of_one_run_or_one_process(folder: Path, ocw_cli: Ocw) -> None:
    of_run = ocw_cli("logs", "--run", "run-1", "--json").json["lines"]
    assert [line["text"].split()[-1] for line in of_run] == ["runId=run-1", "last):"], "with its traceback"
    assert [line["process"] for line in ocw_cli("logs", "--process", "ingress", "--json").json["lines"]] == ["ingress"]
    assert len(ocw_cli("logs", "-n", "2").out.splitlines()) == 2


def test_last_is_the_newest_run(folder: Path, ocw_cli: Ocw) -> None:
    run = ocw_cli("agent", "-m", "hello", "--json").json["runId"]
    (folder / "worker-main.log").write_text(f"{MAIN}2026-11-17 22:12:18 run.ended state=ok runId={run}\n")
    assert [line["text"].split()[-1] for line in ocw_cli("logs", "--run", "last", "--json").json["lines"]] == [
        f"runId={run}"
    ]


def test_an_unknown_process_is_refused_with_the_known_ones(folder: Path, ocw_cli: Ocw) -> None:
    done = ocw_cli("logs", "--process", "wroker")
    assert done.code == 5
    assert "ingress, worker-main" in done.err


def test_new_lines_are_shown_as_they_are_written_also_after_the_file_was_replaced(folder: Path, ocw_cli: Ocw) -> None:
    process = ocw_cli.start("logs", "-f", "-n", "1", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["text"].startswith("Traceback")
    with (folder / "ingress.log").open("a") as file:
        file.write("2026-11-17 22:13:00 one\n")
    assert json.loads(process.stdout.readline()) == {"process": "ingress", "text": "2026-11-17 22:13:00 one"}
    (folder / "new").write_text("2026-11-17 22:14:00 two\n")
    (folder / "new").replace(folder / "ingress.log")
    assert json.loads(process.stdout.readline())["text"].endswith("two")

    process.send_signal(signal.SIGINT)
    assert finish(process).code in (0, 130)
