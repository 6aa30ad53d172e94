"""A file that each turn reads and writes again, while workers of two hosts are killed at random."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.support.fleet import Fleet
from tests.support.programs import call, program, say, write

FILE = "count.txt"
READ = {"tool": "read", "input": {"path": FILE}}


def relay(fleet: Fleet, directory: Path, *, turns: int, kill_every: tuple[float, float]) -> None:
    """Each turn reads what the one before has written; both hosts lose workers meanwhile."""
    workers = [fleet.worker(respawn=True, wait=False)]
    workers.append(fleet.worker(respawn=True, wait=False, state_dir=directory / "other"))
    fleet.ready(*workers)
    with _kills(fleet, kill_every):
        for number in range(turns):
            steps = [call(READ), call(write(FILE, f"turn {number}")), say(str(number))]
            queued = fleet.send(program(*(steps if number else steps[1:])), f"s{number % 3}")
            outcome = fleet.outcome(queued, within=120)
            assert outcome.run is not None
            assert (outcome.run.state, outcome.text) == (RunState.OK, str(number)), fleet.logs()
            if number:
                read = _results(fleet, outcome.run.session_key, outcome.run.id)[0]
                assert f"turn {number - 1}" in read, f"turn {number} has read {read!r}\n{fleet.logs()}"


@contextmanager
def _kills(fleet: Fleet, every: tuple[float, float]) -> Iterator[None]:
    over, chance = threading.Event(), random.Random(7)

    def kill() -> None:
        while not over.wait(chance.uniform(*every)):
            chance.choice(fleet.workers).kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def _results(fleet: Fleet, session: str, run: RunId) -> list[str]:
    entries = fleet.stores.reader.transcript(session)  # type: ignore[arg-type]
    return [entry.text for entry in entries if isinstance(entry, ToolResultEntry) and entry.run_id == run]
