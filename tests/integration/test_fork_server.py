"""`ocw up` forks its Python processes from one that has imported everything."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.test_up import Ocw, is_alive
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
WORKERS = ("worker-main", "worker-subagent", "worker-service")


@pytest.fixture(scope="module")
def ocw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ocw]:
    """One for all tests here; each leaves everything running."""
    command = Ocw(tmp_path_factory.mktemp("up") / "state")
    command.up("--no-flower")
    yield command
    command("down")


def restarted(ocw: Ocw, name: str, before: int) -> int:
    return eventually(lambda: pid if (pid := ocw.runtime.pids.get(name, before)) != before else None, within=60)


def title(pid: int) -> str:
    """What `ps` shows."""
    return psutil.Process(pid).cmdline()[0]


def answers(ocw: Ocw) -> bool:
    done = ocw("agent", "-m", "hello", "--timeout", "60")
    return done.returncode == 0 and "offline/demo" in done.stdout


def test_the_fork_server_has_one_thread_and_no_connection_and_its_forks_belong_to_up(ocw: Ocw) -> None:
    pids = ocw.runtime.pids
    forked = [psutil.Process(pids[name]) for name in (*WORKERS, "ingress")]
    server = psutil.Process(pids["fork-server"])

    assert [title(process.pid) for process in forked] == [f"ocw {name}" for name in (*WORKERS, "ingress")]
    assert {process.ppid() for process in forked} == {ocw.runtime.pid}
    assert all(os.getsid(process.pid) == process.pid for process in forked)
    assert server.num_threads() == 1
    assert server.net_connections("inet") == []
    assert answers(ocw)


def test_workers_go_on_without_the_fork_server_and_are_restarted(ocw: Ocw) -> None:
    before = ocw.runtime.pids

    os.kill(before["fork-server"], signal.SIGKILL)
    os.kill(before["worker-main"], signal.SIGKILL)

    main = restarted(ocw, "worker-main", before["worker-main"])
    restarted(ocw, "fork-server", before["fork-server"])
    now = ocw.runtime.pids
    assert {name: now[name] for name in ("worker-subagent", "ingress")} == {
        name: before[name] for name in ("worker-subagent", "ingress")
    }
    assert answers(ocw)

    eventually(lambda: title(ocw.runtime.pids["fork-server"]) == "ocw fork-server", within=60)
    os.kill(main, signal.SIGKILL)
    again = restarted(ocw, "worker-main", main)
    eventually(lambda: title(again) == "ocw worker-main", within=60)
    assert psutil.Process(again).ppid() == ocw.runtime.pid
    assert answers(ocw)


def test_what_drains_or_ends_one_worker_does_not_reach_the_others(ocw: Ocw) -> None:
    """Memory that forks shared by mistake would stop all of them."""
    before = ocw.runtime.pids
    subagent = f"{socket.gethostname()}/{before['worker-subagent']}"

    assert ocw("drain", subagent).returncode == 0
    assert answers(ocw)
    assert ocw("undrain", subagent).returncode == 0

    os.kill(before["worker-subagent"], signal.SIGTERM)
    restarted(ocw, "worker-subagent", before["worker-subagent"])
    assert ocw.runtime.pids["worker-main"] == before["worker-main"]
    lanes = eventually(lambda: _lanes(ocw) if len(_lanes(ocw)) == 3 else None, within=60)
    assert lanes == {"main", "subagent", "service"}
    assert answers(ocw)


def _lanes(ocw: Ocw) -> set[str]:
    workers = json.loads(ocw("status", "--json").stdout)["workers"]
    return {worker["lane"] for worker in workers if worker["alive"] and not worker["draining"]}


def test_nothing_is_left_after_a_stop(ocw: Ocw) -> None:
    up = psutil.Process(ocw.runtime.pid)
    everything = {process: process.cmdline() for process in [up, *up.children(recursive=True)]}
    assert len(everything) >= 7

    assert ocw("down").returncode == 0

    assert [line for process, line in everything.items() if is_alive(process)] == []


def test_the_fork_server_refuses_to_fork_what_forks_would_share(tmp_path: Path) -> None:
    """The check that the fork server makes: it exits where there is something to share."""
    code = """
        import mmap, sys
        from openclaw_workers.cli.local import forking
        forking._require_nothing_shared()
        print("nothing", flush=True)
        shared = mmap.mmap(-1, 1)
        forking._require_nothing_shared()
    """
    script = tmp_path / "script.py"
    script.write_text("\n".join(line.strip() for line in code.splitlines()))

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (1, "nothing\n")
    assert "there is shared memory" in done.stderr
