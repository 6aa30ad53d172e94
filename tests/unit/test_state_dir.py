"""How commands find a running `ocw up`."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from openclaw_workers.cli.local.detach import stop_running
from openclaw_workers.config.host import find_host
from openclaw_workers.errors import BadInput, ConflictError, NotFound
from openclaw_workers.state_dir import (
    Runtime,
    lock_state_dir,
    prepare_state_dir,
    read_runtime,
    resolve_redis_url,
    running_pid,
    write_runtime,
)

RUNTIME = Runtime(pid=1, redis_url="redis://:p@127.0.0.1:1/0", started_at=1)


def resolve(state_dir: Path, **env: str) -> str:
    return resolve_redis_url(find_host(env=env, cwd=state_dir, state_dir=state_dir))


def test_the_address_comes_from_the_environment_then_the_file_then_the_running_up(tmp_path: Path) -> None:
    lock = lock_state_dir(tmp_path)
    write_runtime(tmp_path, RUNTIME)
    assert resolve(tmp_path) == RUNTIME.redis_url

    (tmp_path / "openclaw.yaml").write_text("redis: {url: 'redis://file/0'}\n")
    assert resolve(tmp_path) == "redis://file/0"
    assert resolve(tmp_path, REDIS_URL="redis://environment/0") == "redis://environment/0"
    os.close(lock)


def test_the_runtime_file_of_a_killed_up_is_ignored(tmp_path: Path) -> None:
    write_runtime(tmp_path, RUNTIME)

    with pytest.raises(NotFound) as caught:
        resolve(tmp_path)

    assert "ocw up" in (caught.value.hint or "")


def test_only_one_process_holds_the_lock_and_its_pid_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)  # the second lock waits between its tries
    lock = lock_state_dir(tmp_path)

    assert running_pid(tmp_path) == os.getpid()
    with pytest.raises(ConflictError, match=f"pid {os.getpid()}"):
        lock_state_dir(tmp_path)
    os.close(lock)
    assert running_pid(tmp_path) is None


def test_the_runtime_file_is_private_and_garbage_reads_as_none(tmp_path: Path) -> None:
    write_runtime(tmp_path, RUNTIME)
    assert (tmp_path / "runtime.json").stat().st_mode & 0o077 == 0
    assert read_runtime(tmp_path) == RUNTIME

    (tmp_path / "runtime.json").write_text('{"pid": "x"')
    assert read_runtime(tmp_path) is None


def test_without_permission_to_read_the_lock_the_state_is_reported_as_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    write_runtime(tmp_path, RUNTIME)
    monkeypatch.setattr(os, "open", refuse)

    for look in (running_pid, stop_running, resolve):
        with pytest.raises(BadInput, match=r"cannot tell whether `ocw up` is running: .*: Permission denied"):
            look(tmp_path)


def test_another_users_up_is_not_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    lock = lock_state_dir(tmp_path)
    monkeypatch.setattr(os, "kill", refuse)

    with pytest.raises(BadInput, match="belongs to another user"):
        stop_running(tmp_path)
    os.close(lock)


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"\xff")])
def test_a_directory_name_unfit_for_redis_is_rejected_before_anything_is_created(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="its name has a line break or is not UTF-8"):
        prepare_state_dir(tmp_path / name)

    assert list(tmp_path.iterdir()) == []
