"""Three hosts on one Redis: files sent from one are there for the turn on another, and so are archives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.fleet import OCW, Fleet, WorkerProcess
from tests.support.hosts import OtherHost
from tests.support.networks import network
from tests.support.ocw import Ocw
from tests.support.programs import as_text, call, execute, program, say
from tests.support.waiting import eventually

DEFAULT = {"engine": {"namespace": "ocw"}}
"""What a host without a file uses."""
LOOK = as_text(program(call(execute("cat .openclaw/inbox/*/1-notes.txt; hostname")), say("seen")))


class Sender:
    """A host without workers: its own network, name and directory, and the address of Redis."""

    def __init__(self, fleet: Fleet, name: str, prefix: list[str], redis_url: str) -> None:
        self._host = OtherHost(fleet, name, REDIS_URL=redis_url)
        self._prefix = prefix

    def ocw(self, *words: str) -> str:
        argv = [*self._prefix, *OCW, *words]
        state_dir = self._host.state_dir
        done = subprocess.run(
            argv, env=self._host.env, cwd=state_dir, capture_output=True, text=True, timeout=90, check=False
        )
        return f"{done.stdout}{done.stderr}"

    def write(self, name: str, text: str) -> Path:
        path = self._host.state_dir / name
        path.write_text(text)
        return path


@pytest.mark.needs("networks")
def test_files_and_archives_are_read_from_any_host(tmp_path: Path) -> None:
    with network() as joined, Fleet(tmp_path / "fleet", DEFAULT, addresses=("127.0.0.1", joined.address)) as fleet:
        assert Ocw(fleet)("config", "apply").code == 0
        url = f"redis://{joined.address}:{fleet.redis_server.port}/0"
        worker = OtherHost(fleet, "host-a", prefix=joined.host("host-a"), REDIS_URL=url)
        workers: list[WorkerProcess] = [worker.worker(lane=lane, wait=False) for lane in ("main", "service")]
        fleet.ready(*workers, within=90)
        sender = Sender(fleet, "host-c", joined.host("host-c"), url)
        notes = sender.write("notes.txt", "written on host-c\n")

        assert "seen\n" in sender.ocw("agent", "--session", "files", "-m", LOOK, "--file", str(notes))

        result = fleet.transcript("files")[2]
        assert "written on host-c\nhost-a" in result.content[0].text  # type: ignore[union-attr]
        run = fleet.stores.reader.runs()[0].id

        assert "reset" in sender.ocw("sessions", "reset", "files")
        eventually(fleet.stores.archives.places, within=60)
        eventually(lambda: not fleet.stores.archives.waiting(), within=60)
        assert "written on host-c" in sender.ocw("runs", "show", run)

        for each in workers:
            each.close()
        shown = sender.ocw("runs", "show", run)
        assert "no journal: the archive is at host-a" in shown
        assert "ocw worker --lane service" in shown
