"""Escapes, tried for real. Each is refused, and the process that runs this is unharmed."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import psutil
import pytest

from tests.component.sandbox.conftest import Run, SandboxHarness
from tests.support.waiting import eventually

pytestmark = pytest.mark.needs("bubblewrap")
SECRET = "planted-secret-4417"
FORKS = (
    "import os, time\n"
    "for made in range(60):\n"
    "    try:\n"
    "        if os.fork() == 0: time.sleep(100); os._exit(0)\n"
    "    except OSError as error: print(made, error); break\n"
)
HOLDERS = """
import os, time
print("started", flush=True)
made = []
for count in range(6):
    read, write = os.pipe()
    made.append(os.fork())
    if made[-1] == 0:
        held = bytearray(b"x") * (80 << 20)
        os.write(write, b"x")
        time.sleep(100)
    os.close(write)
    os.read(read, 1)
pages = [int(open(f"/proc/{pid}/statm").read().split()[1]) for pid in made]
print("MB held:", sum(pages) * os.sysconf("SC_PAGESIZE") >> 20)
"""


def test_a_command_runs_in_its_own_workspace(run: Run, harness: SandboxHarness) -> None:
    output = run("pwd; id -un; echo hi > made; cat made; ls -A")
    assert output == "/sandbox/workspace\nsandbox\nhi\nmade\n[exit code 0]"
    assert (harness.context().workspace / "made").read_text() == "hi\n"


def test_host_files_cannot_be_read(run: Run, harness: SandboxHarness, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text(SECRET)
    hidden.chmod(0o644)
    (harness.agent_workspace / "secret").write_text(SECRET)
    output = run(
        f"cat {hidden} {harness.agent_workspace}/secret {harness.state}/* /etc/shadow /etc/hostname; "
        f"cat /proc/1/root{hidden} /proc/1/cwd/../../{hidden} ../../..{hidden}; ls /root /home {tmp_path} /var /tmp; "
        "find / -xdev -name 'hidden' 2>/dev/null; true"
    )
    assert SECRET not in output
    assert "No such file" in output


def test_other_agents_workspaces_and_other_sandboxes_cannot_be_reached(run: Run, harness: SandboxHarness) -> None:
    run(f"echo {SECRET} > mine", "agent:other:main", scope="session")
    other = harness.context("agent:other:main", scope="session").workspace
    assert (other / "mine").exists()
    assert SECRET not in run(f"cat {other}/mine ../*/mine /sandbox/*/mine; find / -name mine 2>/dev/null; true")


def test_links_out_of_the_sandbox_lead_nowhere(run: Run, harness: SandboxHarness, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text(SECRET)
    output = run(
        f"ln -s {hidden} soft; cat soft; ln {hidden} hard; ln /usr/bin/true hard2; ln -s / root; cat root{hidden}; "
        f"echo x > soft; mkdir d; ln -s {tmp_path} d/up; touch d/up/written; ls -la"
    )
    assert SECRET not in output
    assert hidden.read_text() == SECRET
    assert not (tmp_path / "written").exists()


def test_nothing_outside_can_be_written(run: Run, tmp_path: Path) -> None:
    output = run(
        f"for f in /x /usr/x /etc/x /dev/x /run/x /proc/x /sandbox/x /bin/sh {tmp_path}/x; do echo x > $f; done; "
        "echo x > /etc/passwd; mount -t tmpfs none /mnt; mkdir /y; echo over > /proc/sys/kernel/hostname; true"
    )
    assert output.count("Read-only file system") >= 6
    assert not (tmp_path / "x").exists()
    assert not Path("/x").exists()


def test_processes_of_others_are_neither_seen_nor_reached(run: Run) -> None:
    me = os.getpid()
    output = run(f"ls -d /proc/[0-9]*; kill -9 {me}; cat /proc/{me}/environ /proc/{me}/cmdline; kill -9 -1; true")
    assert psutil.pid_exists(me)
    assert "pytest" not in output
    # bwrap's own, the shell, and what it started
    assert len([line for line in output.splitlines() if line.startswith("/proc/")]) <= 5


def test_there_is_no_network_unless_it_is_allowed(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
        assert "connected" not in run(connect)
        assert "connected" in run(connect, network=True)
    assert run("cat /proc/net/route | wc -l") == "1\n[exit code 0]"


def test_a_fork_bomb_ends_with_its_command(run: Run) -> None:
    before = threading.active_count()
    output = run("bomb() { bomb | bomb & }; bomb; sleep 2; echo over", limits={"processes": 32}, timeout=10)
    assert "Resource temporarily unavailable" in output or "fork" in output or "over" in output
    assert threading.active_count() == before
    assert _processes_of_sandboxes() == []
    assert run("echo fine", limits={"processes": 32}) == "fine\n[exit code 0]"


def test_no_more_processes_than_allowed_run_at_a_time(run: Run) -> None:
    output = run(f"exec python3 -c '{FORKS}'", limits={"processes": 20})
    assert "Resource temporarily unavailable" in output
    assert int(output.split()[0]) < 20


@pytest.mark.parametrize(
    "bomb",
    [
        "python3 -c \"x = bytearray(2 << 30); x[::4096] = b'x' * len(x[::4096]); print('got it')\"",
        "head -c 2G /dev/zero > /dev/shm/x && echo got it",
        "head -c 2G /dev/zero > /tmp/x && echo got it",
        "head -c 2G /dev/zero > /dev/x && echo got it",
    ],
)
def test_a_memory_bomb_is_stopped(run: Run, bomb: str) -> None:
    assert "got it" not in run(bomb, limits={"memory": "256mb", "tmp": "16mb"}).splitlines()
    assert run("echo fine") == "fine\n[exit code 0]"


def test_a_disk_bomb_in_one_file_and_in_many_is_stopped(run: Run, harness: SandboxHarness) -> None:
    limits = {"disk": "20mb"}
    assert "got it" not in run("head -c 60M /dev/zero > big && echo got it", limits=limits).splitlines()
    run("rm big")
    many = run(
        "for i in $(seq 100000); do head -c 1M /dev/zero > f$i || break; sleep 0.01; done; echo got it", limits=limits
    )
    assert "filled its sandbox's disk" in many
    workspace = harness.context().workspace
    used = sum(path.stat().st_blocks * 512 for path in workspace.iterdir())
    assert used < 200 << 20
    assert run("rm f*; echo fine", limits={"disk": "1gb"}) == "fine\n[exit code 0]"


def test_in_an_agents_workspace_the_limit_counts_what_is_added(run: Run, harness: SandboxHarness) -> None:
    (harness.agent_workspace / "large").write_bytes(b"x" * (30 << 20))
    settings = {"workspace_access": "rw", "limits": {"disk": "20mb"}}
    assert run("ls; sleep 0.5; echo fine", **settings) == "large\nfine\n[exit code 0]"
    many = "for i in $(seq 1000); do head -c 1M /dev/zero > f$i; sleep 0.02; done"
    assert "filled its sandbox's disk" in run(many, **settings)


def test_processor_time_and_time_are_limited(run: Run) -> None:
    assert "Killed" in run("sh -c 'while :; do :; done'; echo over", limits={"cpuSeconds": 1})
    assert "ended after 1 s" in run("sleep 1000", limits={"seconds": 1})


def test_no_process_is_left_behind(run: Run) -> None:
    output = run("setsid sleep 1000 & (setsid sh -c 'nohup sleep 1000 & sleep 1000' &) ; sleep 0.2; echo hi")
    assert output == "hi\n[exit code 0]"
    eventually(lambda: _processes_of_sandboxes() == [], within=20)


def test_there_are_no_capabilities_no_new_namespaces_and_a_filter_of_system_calls(run: Run) -> None:
    status = run("grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status")
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert f"{name}:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    refused = run("unshare -Ur true; unshare -m true; mount --bind / /mnt; chroot / true; nsenter -t 1 -m true; true")
    assert refused.count("not permitted") + refused.count("denied") + refused.count("failed") >= 4


def test_planted_secrets_and_the_workers_environment_do_not_appear(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("MY_SECRET", SECRET)
    output = run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; true")
    assert SECRET not in output
    assert "PATH=" in output


def _processes_of_sandboxes() -> list[int]:
    return [each.pid for each in psutil.process_iter() if _is_sandboxed(each)]


def _is_sandboxed(process: psutil.Process) -> bool:
    try:
        return "/sandbox/workspace" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def test_where_no_cgroup_can_be_made_rlimits_hold(run: Run, harness: SandboxHarness) -> None:
    harness.sandboxes.backend.__dict__["cgroups"] = None
    limits = {"memory": "256mb", "processes": 20}
    assert "MemoryError" in run("exec python3 -c 'x = bytearray(1 << 30)'", limits=limits)
    assert "Resource temporarily unavailable" in run(f"exec python3 -c '{FORKS}'", limits=limits)


def test_where_cgroups_can_be_made_memory_is_counted_over_all_processes(run: Run, harness: SandboxHarness) -> None:
    if harness.sandboxes.backend.cgroups is None:  # type: ignore[attr-defined]
        pytest.skip("no cgroups can be made")
    output = run(f"exec python3 -c '{HOLDERS}'", limits={"memory": "256mb"})
    assert "started" in output
    # Version 2 ends the whole command, version 1 some of its processes.
    held = [int(line.split()[-1]) for line in output.splitlines() if line.startswith("MB held:")]
    assert sum(held) < 300, "of 480; each counts the pages that they share"
