"""The sandboxes of a place: their users, files and ends, and what is said where none can be made."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from openclaw_workers.cli.main import run as run_cli
from openclaw_workers.sandbox.box import Box
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from openclaw_workers.sandbox.cgroups import find_cgroups
from openclaw_workers.sandbox.directory import SandboxDirectory, SandboxInfo
from openclaw_workers.sandbox.launch import Launch
from openclaw_workers.sandbox.limits import Limits
from openclaw_workers.sandbox.ownership import give_to, uid_for
from openclaw_workers.sandbox.seccomp import seccomp_filter
from tests.component.sandbox.conftest import Run, SandboxHarness

DAY_MS = 86_400_000
is_root = pytest.mark.skipif(os.getuid() != 0, reason="not root")


def info(sandbox_id: str, created_at: int, **more: int) -> SandboxInfo:
    given = {"idle_ms": DAY_MS, "max_age_ms": 7 * DAY_MS, "busy_ms": 1000, **more}
    return SandboxInfo(sandbox_id, "main", "agent:main:main", "agent", "none", "/w", None, created_at, **given)


def used(directory: SandboxDirectory, sandbox: SandboxInfo, age_ms: int) -> None:
    home = directory.use(sandbox)
    path = home / "sandbox.json"
    at = path.stat().st_mtime - age_ms / 1000
    os.utime(path, (at, at))


def test_idle_and_old_sandboxes_are_deleted_but_not_busy_ones(tmp_path: Path) -> None:
    directory = SandboxDirectory(tmp_path)
    now = int(tmp_path.stat().st_mtime * 1000)
    used(directory, info("idle", now), 2 * DAY_MS)
    used(directory, info("fresh", now), 5_000)
    used(directory, info("old", now - 8 * DAY_MS), 5_000)
    used(directory, info("old-but-busy", now - 8 * DAY_MS, busy_ms=DAY_MS), 5_000)
    used(directory, info("kept-for-ever", now, idle_ms=0, max_age_ms=0), 900 * DAY_MS)
    assert sorted(directory.prune()) == ["idle", "old"]
    assert [each.info.id for each in directory.all()] == ["fresh", "kept-for-ever", "old-but-busy"]
    assert sorted(directory.prune(everything=True)) == ["fresh", "kept-for-ever"]


@is_root
@pytest.mark.needs("bubblewrap")
def test_as_root_each_sandbox_has_a_user_of_its_own(harness: SandboxHarness, run: Run) -> None:
    settings = {"scope": "session", "uidBase": 700_000}
    for session in ("agent:main:one", "agent:main:two"):
        run("echo x > made; mkdir d", session, **settings)
    owners = set()
    for session in ("agent:main:one", "agent:main:two"):
        workspace = harness.context(session, **settings).workspace
        uids = {path.stat().st_uid for path in (workspace, workspace / "made", workspace / "d")}
        assert len(uids) == 1
        owners |= uids
    assert len(owners) == 2
    assert all(700_000 <= uid < 710_000 for uid in owners)


@is_root
@pytest.mark.needs("bubblewrap")
def test_files_that_the_host_writes_are_the_sandboxs_before_the_next_command(harness: SandboxHarness, run: Run) -> None:
    workspace = harness.context().workspace
    (workspace / "given").write_text("1\n")
    assert run("echo 2 >> given; cat given") == "1\n2\n[exit code 0]"


@is_root
def test_a_file_with_another_name_and_what_links_lead_to_keep_their_owner(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.write_text("x")
    (inside / "d").mkdir(parents=True)
    os.link(outside, inside / "hard")
    (inside / "soft").symlink_to(outside)
    (inside / "d" / "own").write_text("x" * 5000)
    assert give_to(inside, 650_001) >= 5000
    assert outside.stat().st_uid == 0
    assert (inside / "d" / "own").stat().st_uid == 650_001


def test_users_are_given_once_and_stay(tmp_path: Path) -> None:
    first, second = uid_for("a", tmp_path, 600_000), uid_for("b", tmp_path, 600_000)
    assert first != second
    assert uid_for("a", tmp_path, 600_000) == first


def test_a_backend_that_does_not_start_is_not_available_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bubblewrap, "_answers", {})
    missing = Bubblewrap(tmp_path, lambda launch: (0, "sandbox"), program="no-such-bwrap").availability()
    assert not missing.is_available
    assert "the program no-such-bwrap is not installed" in missing.refusal
    assert "apt-get install bubblewrap" in missing.refusal

    def refuses(launch: Launch) -> tuple[int, str]:
        for directory in launch.cgroups:
            os.rmdir(directory)
        return 1, "bwrap: No permissions to create new namespace"

    refused = Bubblewrap(tmp_path, refuses, program="true").availability()
    assert not refused.is_available
    assert "the system refuses to start a sandbox (bwrap: No permissions to create new namespace)" in refused.reason


def test_what_holds_each_limit_is_said(tmp_path: Path) -> None:
    backend = Bubblewrap(tmp_path, lambda launch: (0, ""))
    measures = backend.measures(Box("b", tmp_path, tmp_path, "none", Limits(), False, None))
    assert {"user", "memory", "processes", "cpu", "disk", "time", "network", "seccomp"} == measures.keys()
    assert measures["network"].startswith("none")
    expected = "cgroup" if find_cgroups() else "rlimit"
    assert expected in measures["memory"]


def test_the_filter_of_system_calls_is_a_program_that_only_jumps_forward() -> None:
    for machine in ("x86_64", "aarch64"):
        rules = seccomp_filter(machine)
        assert rules is not None
        program = list(struct.iter_unpack("=HBBI", rules))
        assert program[-2][3] == 0x7FFF0000
        for index, (code, if_true, if_false, _) in enumerate(program):
            if code in (0x15, 0x35):
                assert index + 1 + max(if_true, if_false) < len(program)
    assert seccomp_filter("pdp11") is None


def test_sandboxes_are_listed_and_deleted_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path))
    directory = SandboxDirectory(tmp_path / "sandboxes")

    def ocw(*words: str) -> str:
        assert run_cli(["sandbox", *words]) == 0
        return capsys.readouterr().out

    assert ocw("list") == "No sandboxes.\n"
    used(directory, info("agent-main", 1_000_000), 5_000)
    assert "agent-main  agent  none" in ocw("list")
    listed = json.loads(ocw("list", "--json"))["sandboxes"]
    assert (listed[0]["id"], listed[0]["agentId"], listed[0]["createdAt"]) == ("agent-main", "main", 1_000_000)
    assert json.loads(ocw("prune", "--json"))["deleted"] == ["agent-main"]
    assert ocw("prune", "--all") == "Nothing to delete.\n"
