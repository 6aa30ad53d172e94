"""How commands find a running `ocw up`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openclaw_workers.config.loader import load
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.runtime import (
    Runtime,
    StateLock,
    read_runtime,
    resolve_redis_url,
    running_pid,
    write_runtime,
)

RUNTIME = Runtime(pid=1, redis_url="redis://:p@127.0.0.1:1/0", started_at=1)


def resolve(state_dir: Path, **env: str) -> str:
    return resolve_redis_url(load(env=env, cwd=state_dir, state_dir=state_dir).settings, env, state_dir)


def test_the_address_comes_from_the_environment_then_the_file_then_the_running_up(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.acquire()
    write_runtime(tmp_path, RUNTIME)
    assert resolve(tmp_path) == RUNTIME.redis_url

    (tmp_path / "openclaw.yaml").write_text("redis: {url: 'redis://file/0'}\n")
    assert resolve(tmp_path) == "redis://file/0"
    assert resolve(tmp_path, REDIS_URL="redis://environment/0") == "redis://environment/0"
    lock.release()


def test_what_a_killed_up_left_behind_is_not_believed(tmp_path: Path) -> None:
    write_runtime(tmp_path, RUNTIME)

    with pytest.raises(NotFound) as caught:
        resolve(tmp_path)

    assert "ocw up" in (caught.value.hint or "")


def test_the_lock_names_its_holder_and_admits_one(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.acquire()

    assert running_pid(tmp_path) == os.getpid()
    with pytest.raises(ConflictError, match=f"pid {os.getpid()}"):
        StateLock(tmp_path).acquire()
    lock.release()
    assert running_pid(tmp_path) is None


def test_the_record_is_closed_to_others_and_garbage_reads_as_none(tmp_path: Path) -> None:
    write_runtime(tmp_path, RUNTIME)
    assert (tmp_path / "runtime.json").stat().st_mode & 0o077 == 0
    assert read_runtime(tmp_path) == RUNTIME

    (tmp_path / "runtime.json").write_text('{"pid": "x"')
    assert read_runtime(tmp_path) is None
