"""What of our settings reaches a worker process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from openclaw_workers.cli.commands import worker as module
from openclaw_workers.cli.commands.up import _plan
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.local.celery_argv import celery_argv
from openclaw_workers.cli.main import run
from openclaw_workers.domain.runs import WORKER_LANES, Lane
from openclaw_workers.engine.sweep.pace import SHORTEST
from tests.support.fleet import Fleet

SWEEPS = """
import time
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.tasks.worker import Worker, WorkerFacts

looks = []

def look(sweeper):
    looks.append(time.monotonic())
    if len(looks) == 3:
        sweeper.stop()
    return sweeper._pace.until_next(workers=1)

Sweeper.sweep = look
Worker(WorkerFacts("main", 1, "threads"))._sweeper.run()
print(looks[-1] - looks[0])
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    lanes = {lane.value: {"concurrency": 21 + number} for number, lane in enumerate(WORKER_LANES)}
    config = {"lanes": lanes, "engine": {"sweepSeconds": 0.5}}
    (tmp_path / "openclaw.json").write_text(json.dumps(config))
    where = {"OPENCLAW_CONFIG": str(tmp_path / "openclaw.json"), "OPENCLAW_STATE_DIR": str(tmp_path)}
    return {**os.environ, **where, "REDIS_URL": "redis://127.0.0.1:1/0", "OPENCLAW_LOCAL_CONFIG": "1"}


@pytest.mark.parametrize(("lane", "concurrency"), [("main", 21), ("subagent", 22), ("service", 23)])
def test_a_worker_carries_as_many_as_its_lane_is_set_to(
    lane: str, concurrency: int, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, argv: started.append(argv))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    cli = CliContext()

    CliRunner().invoke(module.worker, ["--lane", lane], obj=cli, catch_exceptions=False)

    [argv] = started
    assert argv[argv.index("-c") + 1] == str(concurrency)
    plan = _plan(cli, cli.loaded, {}, with_flower=False, with_ingress=False, forks=False)
    assert plan.concurrency[Lane(lane)] == concurrency


def test_workers_of_sub_agents_give_way_as_much_as_is_set(tmp_path: Path) -> None:
    with Fleet(tmp_path, {"lanes": {"subagent": {"niceness": 7}}}) as fleet:
        main, subagent = fleet.worker("main", wait=False), fleet.worker("subagent", wait=False)
        fleet.ready(main, subagent)
        own = psutil.Process().nice()
        assert psutil.Process(main.pid).nice() == own
        assert psutil.Process(subagent.pid).nice() == max(7, own)


def test_a_log_level_that_does_not_exist_is_reported_before_celery_is_started(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, argv: started.append(argv))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert run(["worker", "--lane", "main", "--loglevel", "bogus", "--json"]) == 2
    assert started == []
    assert run(["worker", "--lane", "main", "--loglevel", "debug"]) == 0
    [argv] = started
    assert argv[argv.index("-l") + 1] == "DEBUG"


PLAIN_CELERY = [sys.executable, "-m", "celery", "-A", "openclaw_workers.tasks.app", "worker", "-Q", "main"]


def test_a_worker_looks_for_what_is_due_as_often_as_it_is_set_to(environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", SWEEPS], env=environment, capture_output=True, text=True, check=True)

    assert float(done.stdout.splitlines()[-1]) >= 2 * 0.5 * SHORTEST


def test_a_file_in_the_working_directory_is_not_taken_for_a_library(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("structlog", "rich", "redis", "celeryconfig"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not the library')")
    code = "from openclaw_workers.tasks.app import app; app.loader.import_default_modules(); print(len(app.tasks))"

    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_another_checkout_in_the_working_directory_is_not_run_instead_of_us(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "openclaw_workers").mkdir()
    (tmp_path / "openclaw_workers" / "__init__.py").write_text("raise SystemExit('this is another checkout')")
    argv = celery_argv(Lane.MAIN, 1)
    report = [*argv[: argv.index("worker")], "report"]

    done = subprocess.run(report, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "InstalledOnly" in done.stdout
