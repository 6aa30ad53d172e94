"""A worker started by Celery's own command, as the README says it may be."""

from __future__ import annotations

import subprocess
import sys

from tests.support.fleet import Fleet
from tests.support.programs import program, say


def test_celerys_own_command_starts_a_worker_that_answers(unstaffed: Fleet) -> None:
    argv = [sys.executable, "-m", "celery", "-A", "openclaw_workers.tasks.app", "worker", "-Q", "main"]
    log = unstaffed.directory / "celery.log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            argv, env=unstaffed.environment(), cwd=unstaffed.state_dir, stdout=output, stderr=output
        )
    try:
        outcome = unstaffed.outcome(unstaffed.send(program(say("by Celery's command"))), within=40)
    finally:
        worker.terminate()
        code = worker.wait(timeout=40)

    assert outcome.text == "by Celery's command", log.read_text()
    assert code == 0, log.read_text()
    assert unstaffed.stores.fleet.workers() == []
