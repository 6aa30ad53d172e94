"""The supervisor with small processes in place of Redis, workers and Flower."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from openclaw_workers.cli.local.child import Backoff
from openclaw_workers.cli.local.child_spec import ChildSpec
from openclaw_workers.cli.local.console import Console, LogFile
from openclaw_workers.cli.local.supervisor import Supervisor
from tests.support.waiting import eventually

QUICK = Backoff(first_seconds=0.05, ceiling_seconds=0.2, healthy_seconds=60)
STAY = "import signal; print('here', flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True)\n" + (
    "while True: signal.pause()"
)
PARENT = """
    import subprocess, sys
    grandchild = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    print(f"grandchild {grandchild.pid}", flush=True)
    grandchild.wait()
"""


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def console(tmp_path: Path, screen: io.StringIO) -> Iterator[Console]:
    console = Console(tmp_path, screen, in_colour=False)
    yield console
    console.close()


@pytest.fixture
def supervisor(console: Console) -> Iterator[Supervisor]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored if the tests themselves run under nohup
    with Supervisor(console, backoff=QUICK) as supervisor:
        yield supervisor
    signal.signal(signal.SIGHUP, before)


def child(name: str, code: str, *, is_ready: Callable[[int], bool] = lambda _pid: True, **more: object) -> ChildSpec:
    argv = (sys.executable, "-c", textwrap.dedent(code))
    return ChildSpec(name, argv, dict(os.environ), is_ready, **more)  # type: ignore[arg-type]


def said(screen: io.StringIO, text: str) -> Callable[[int], bool]:
    """A readiness probe: the text has been printed."""
    return lambda _pid: text in screen.getvalue()


def run_until(supervisor: Supervisor, is_so: Callable[[], object]) -> None:
    """Run the supervisor in the main thread until a condition holds."""
    failures: list[BaseException] = []

    def watch() -> None:
        try:
            eventually(is_so, within=20)
        except BaseException as failure:  # noqa: BLE001 - re-raised in the test's own thread
            failures.append(failure)
        os.kill(os.getpid(), signal.SIGTERM)

    watcher = threading.Thread(target=watch)
    watcher.start()
    supervisor.run()
    watcher.join()
    for failure in failures:
        raise failure


def test_a_killed_child_is_restarted_and_that_is_reported(supervisor: Supervisor, screen: io.StringIO) -> None:
    supervisor.start(child("worker", STAY, is_ready=said(screen, "here")))
    assert supervisor.wait_ready(["worker"], within_seconds=20) is None
    first = supervisor.pids["worker"]

    os.kill(first, signal.SIGKILL)
    run_until(supervisor, lambda: supervisor.pids.get("worker", first) != first)

    assert "child.died name=worker how='killed by SIGKILL'" in screen.getvalue()
    assert "restartInSeconds=0.05" in screen.getvalue()


@pytest.mark.parametrize(("healthy_seconds", "delays"), [(0, ["0.05", "0.05"]), (60, ["0.05", "0.1"])])
def test_a_healthy_child_restarts_with_the_first_delay(
    console: Console, screen: io.StringIO, healthy_seconds: float, delays: list[str]
) -> None:
    backoff = Backoff(first_seconds=0.05, ceiling_seconds=10, healthy_seconds=healthy_seconds)
    with Supervisor(console, backoff=backoff) as supervisor:
        supervisor.start(child("worker", "print('gone')", start_attempts=100))
        run_until(supervisor, lambda: screen.getvalue().count("restartInSeconds") >= 2)

    assert re.findall(r"restartInSeconds=(\S+)", screen.getvalue())[:2] == delays


def test_the_process_group_of_a_dead_child_is_ended(supervisor: Supervisor, screen: io.StringIO) -> None:
    supervisor.start(child("worker", PARENT, is_ready=said(screen, "grandchild")))
    assert supervisor.wait_ready(["worker"], within_seconds=20) is None
    grandchild = psutil.Process(int(screen.getvalue().split()[-1]))

    os.kill(supervisor.pids["worker"], signal.SIGKILL)

    run_until(supervisor, lambda: not is_alive(grandchild))


def test_a_child_that_never_gets_ready_ends_the_start_with_its_last_lines(supervisor: Supervisor) -> None:
    supervisor.start(child("worker", "raise SystemExit('no such lane')", is_ready=lambda _pid: False))

    failure = supervisor.wait_ready(["worker"], within_seconds=30)

    assert failure is not None
    assert (failure.name, failure.why) == ("worker", "it keeps ending")
    assert failure.tail == ("no such lane",) * 3


@pytest.mark.parametrize("code", [STAY, "raise SystemExit('port taken')"])
def test_a_dropped_child_is_gone_whether_it_was_running_or_not(
    supervisor: Supervisor, screen: io.StringIO, code: str
) -> None:
    supervisor.start(child("flower", code, is_ready=said(screen, "here"), start_attempts=1))
    supervisor.wait_ready(["flower"], within_seconds=20)

    supervisor.drop("flower")

    assert supervisor.pids == {}


def test_a_missing_program_is_a_failed_start_without_a_traceback(supervisor: Supervisor) -> None:
    supervisor.start(ChildSpec("redis", ("/nonexistent/redis",), {}, lambda _pid: False, start_attempts=1))

    failure = supervisor.wait_ready(["redis"], within_seconds=5)

    assert failure is not None
    assert "No such file" in failure.tail[-1]


def test_ranks_end_in_order_and_one_that_ignores_sigterm_is_killed(supervisor: Supervisor, screen: io.StringIO) -> None:
    goodbye = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('bye {0}')));"
    stay = "print('ready {0}', flush=True); signal.pause()"
    names = ["redis", "flower", "worker"]
    for rank, name in [(2, "redis"), (1, "flower"), (0, "worker")]:
        code = (goodbye + stay).format(name)
        supervisor.start(child(name, code, is_ready=said(screen, f"ready {name}"), stop_rank=rank))
    stubborn = child("stuck", STUBBORN, is_ready=said(screen, "here"), stop_seconds=0.3)
    supervisor.start(stubborn)
    assert supervisor.wait_ready([*names, "stuck"], within_seconds=20) is None

    supervisor.stop()

    lines = screen.getvalue().splitlines()
    order = [line.split()[-1] for line in lines if " bye " in line]
    assert order == ["worker", "flower", "redis"]
    assert any("child.killed name=stuck why='still there after 0.3 s'" in line for line in lines)
    assert supervisor.pids == {}


def test_a_second_stop_signal_does_not_wait(supervisor: Supervisor, screen: io.StringIO) -> None:
    supervisor.start(child("stuck", STUBBORN, is_ready=said(screen, "here"), stop_seconds=600))
    assert supervisor.wait_ready(["stuck"], within_seconds=20) is None

    os.kill(os.getpid(), signal.SIGINT)
    supervisor.run()
    os.kill(os.getpid(), signal.SIGINT)  # only after the first was handled: two at once count as one
    supervisor.stop()

    assert "child.killed name=stuck why='asked twice'" in screen.getvalue()


def test_a_closed_terminal_is_one_graceful_stop_however_often_it_is_reported(
    supervisor: Supervisor, screen: io.StringIO
) -> None:
    ends = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('bye')))"
    code = f"{ends}; print('here', flush=True); signal.pause()"
    supervisor.start(child("polite", code, is_ready=said(screen, "here"), stop_seconds=600))
    assert supervisor.wait_ready(["polite"], within_seconds=20) is None

    os.kill(os.getpid(), signal.SIGHUP)
    supervisor.run()
    os.kill(os.getpid(), signal.SIGHUP)
    supervisor.stop()

    assert "bye" in screen.getvalue()
    assert "child.killed" not in screen.getvalue()


def test_a_lock_is_held_by_the_child_and_delays_its_successor(
    supervisor: Supervisor, screen: io.StringIO, tmp_path: Path
) -> None:
    # Given a process that outlived its supervisor and still holds the data lock
    lock = tmp_path / "redis.lock"
    holder = subprocess.Popen(["flock", "--no-fork", str(lock), "sleep", "600"])
    try:
        eventually(lambda: subprocess.run(["flock", "-n", str(lock), "true"], check=False).returncode, within=10)

        # When the next one is started
        supervisor.start(child("redis", STAY, is_ready=said(screen, "here"), lock_path=lock, start_attempts=1))
        failure = supervisor.wait_ready(["redis"], within_seconds=0.2)

        # Then it waits, and starts as soon as the lock is free
        assert failure is not None
        assert "still holds" in failure.tail[-1]
    finally:
        holder.kill()
        holder.wait()
    assert supervisor.wait_ready(["redis"], within_seconds=20) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ties children to their parent on Linux only")
def test_children_do_not_outlive_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = f"""
        import io, os, pathlib, sys
        from openclaw_workers.cli.local.child_spec import ChildSpec
        from openclaw_workers.cli.local.console import Console
        from openclaw_workers.cli.local.supervisor import Supervisor

        console = Console(pathlib.Path({str(tmp_path)!r}), io.StringIO(), in_colour=False)
        with Supervisor(console) as supervisor:
            for name in ("redis", "worker"):
                argv = (sys.executable, "-c", "import signal; signal.pause()")
                supervisor.start(ChildSpec(name, argv, dict(os.environ), lambda _pid: True))
            print(*supervisor.pids.values(), flush=True)
            supervisor.run()
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(children) == 2

    parent.kill()
    parent.wait()

    for process in children:
        eventually(lambda process=process: not is_alive(process), within=10)  # type: ignore[misc]
    parent.stdout.close()


def test_each_line_is_stamped_masked_and_kept_in_a_file(
    supervisor: Supervisor, console: Console, screen: io.StringIO, tmp_path: Path
) -> None:
    console.line("worker-main", "connected to redis://:secret@127.0.0.1:6379/0 \x1b[31mred\x1b[0m\x07")
    console.line("redis", "quiet", is_shown=False)

    expected = "connected to redis://:***@127.0.0.1:6379/0 red"
    assert screen.getvalue()[8:] == f" {'worker-main':<15} {expected}\n"
    assert (tmp_path / "worker-main.log").read_text().endswith(f" {expected}\n")
    assert (tmp_path / "redis.log").read_text().endswith(" quiet\n")
    assert (tmp_path / "redis.log").stat().st_mode & 0o077 == 0


def test_a_log_file_above_its_size_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "redis.log"
    for text in ("first\n", "second\n", "third\n"):
        file = LogFile(path, rotate_at_bytes=3)
        file.write(text)
        file.close()

    assert path.read_text() == "third\n"
    assert path.with_suffix(".log.1").read_text() == "second\n"


def test_a_closed_output_does_not_stop_the_supervisor(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    console = Console(tmp_path, os.fdopen(write_end, "w"), in_colour=False)

    console.line("redis", "one")
    console.line("redis", "two")

    console.close()
    assert len((tmp_path / "redis.log").read_text().splitlines()) == 2


def test_backoff_doubles_to_its_ceiling() -> None:
    delays = [Backoff().delay_seconds(deaths) for deaths in (1, 2, 3, 7, 8, 1000)]
    assert delays == [0.5, 1.0, 2.0, 30.0, 30.0, 30.0]


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
