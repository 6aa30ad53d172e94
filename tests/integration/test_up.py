"""`ocw up` and `ocw down` as a person uses them: real Redis, real workers, real Flower."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from openclaw_workers.cli.local.flower import url_of
from openclaw_workers.cli.local.private_redis import answers
from openclaw_workers.cli.local.saved_endpoint import SavedEndpoint
from openclaw_workers.state_dir import Runtime, read_runtime, running_pid
from tests.support.redis_server import RedisServer, free_port, is_rewritten, journal_of
from tests.support.terminal import Terminal
from tests.support.waiting import eventually

WORKERS = {"worker-main", "worker-subagent", "worker-service"} | ({"fork-server"} if sys.platform == "linux" else set())


class Ocw:
    """Runs `ocw` on one state directory."""

    def __init__(self, state_dir: Path, **env: str) -> None:
        self.state_dir = state_dir
        hidden = ("REDIS_URL", "OPENCLAW_", "ANTHROPIC_", "OPENAI_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.env = {**inherited, "OPENCLAW_STATE_DIR": str(state_dir), **env}

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*words), env=self.env, capture_output=True, text=True, timeout=120, check=False)

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "openclaw_workers.cli.main", *words]

    def up(self, *options: str) -> dict[str, Any]:
        done = self("up", "--detach", "--json", *options)
        assert done.returncode == 0, done.stderr
        ready: dict[str, Any] = json.loads(done.stdout)
        return ready

    @property
    def runtime(self) -> Runtime:
        runtime = read_runtime(self.state_dir)
        assert runtime is not None
        return runtime


@pytest.fixture
def ocw(tmp_path: Path) -> Iterator[Ocw]:
    command = Ocw(tmp_path / "state")
    yield command
    command("down")


def test_up_starts_everything_and_down_ends_it(ocw: Ocw) -> None:
    ready = ocw.up()

    assert ready["pids"].keys() == {"redis", "flower", "ingress"} | WORKERS
    assert ready["offline"] is True
    workers = json.loads(ocw("status", "--json").stdout)["workers"]
    assert {worker["lane"]: worker["concurrency"] for worker in workers} == {"main": 4, "subagent": 8, "service": 4}
    assert running_pid(ocw.state_dir) == ready["pid"]
    assert "***" in ready["redisUrl"], "the password is in the output"
    with redis.Redis.from_url(ocw.runtime.redis_url, decode_responses=True) as client:
        settings: Any = client.config_get("append*")
        policy: Any = client.config_get("maxmemory-policy")
    assert (settings["appendonly"], settings["appendfsync"]) == ("yes", "always")
    assert policy == {"maxmemory-policy": "noeviction"}
    processes = [psutil.Process(pid) for pid in ready["pids"].values()]

    done = ocw("down")

    assert done.returncode == 0, done.stderr
    assert not any(process.is_running() for process in processes)
    assert running_pid(ocw.state_dir) is None
    assert read_runtime(ocw.state_dir) is None


def test_down_with_nothing_running_says_so_and_succeeds(ocw: Ocw) -> None:
    done = ocw("down")

    assert (done.returncode, done.stdout) == (0, f"nothing is running on {ocw.state_dir}\n")


def test_down_works_with_a_broken_configuration(ocw: Ocw) -> None:
    ocw.up("--no-flower")
    (ocw.state_dir / "openclaw.yaml").write_text("lanez: {}\n")

    done = ocw("down")

    assert done.returncode == 0, done.stderr
    assert running_pid(ocw.state_dir) is None


def test_no_password_is_in_the_process_list_or_in_readable_files(ocw: Ocw) -> None:
    ready = ocw.up()
    passwords = [json.loads((ocw.state_dir / name).read_text())["password"] for name in ("redis.json", "flower.json")]

    shown = " ".join(" ".join(psutil.Process(pid).cmdline()) for pid in [ready["pid"], *ready["pids"].values()])
    assert not any(password in shown for password in passwords)
    assert ocw.state_dir.stat().st_mode & 0o077 == 0
    for path in ocw.state_dir.rglob("*"):
        if path.is_file() and any(password in path.read_text(errors="replace") for password in passwords):
            assert path.stat().st_mode & 0o077 == 0, path
            assert "logs" not in path.parts, path


def test_flower_requires_its_password(ocw: Ocw) -> None:
    url = f"{ocw.up()['flowerUrl']}/api/workers"
    kept = json.loads((ocw.state_dir / "flower.json").read_text())

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=5)
    assert refused.value.code == 401
    refused.value.close()
    token = base64.b64encode(f"{kept['user']}:{kept['password']}".encode()).decode()
    request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        workers = json.loads(answer.read())
    queues = {queue["name"] for worker in workers.values() for queue in worker["active_queues"]}
    assert queues == {"main", "subagent", "service"}, "it is ready when it shows all workers"


def test_flower_shows_workers_that_start_later_on_another_host_and_the_queues_of_places(
    ocw: Ocw, tmp_path: Path
) -> None:
    ocw.up("--no-ingress")
    flower = SavedEndpoint.model_validate_json((ocw.state_dir / "flower.json").read_bytes())
    assert ocw("agent", "-m", "hello").returncode == 0  # makes the place of the agent

    other = Ocw(tmp_path / "other", REDIS_URL=ocw.runtime.redis_url)
    other.up("--no-flower", "--no-ingress")
    try:
        eventually(lambda: len(known_to(flower)) == 6, within=60)
        eventually(
            lambda: sum("main@" in queue for queues in known_to(flower).values() for queue in queues) == 1, within=60
        )
    finally:
        other("down")


def known_to(flower: SavedEndpoint) -> dict[str, list[str]]:
    """The workers that Flower shows, each with its queues, as its pages have them."""
    token = base64.b64encode(f"{flower.user}:{flower.password}".encode()).decode()
    request = urllib.request.Request(f"{url_of(flower)}/api/workers", headers={"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        workers = json.load(answer)
    return {name: [queue["name"] for queue in facts.get("active_queues", [])] for name, facts in workers.items()}


def test_a_killed_redis_restarts_on_its_port_with_its_data(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower")
    url = ocw.runtime.redis_url
    with redis.Redis.from_url(url, decode_responses=True) as client:
        client.set("kept", "yes")

    os.kill(ready["pids"]["redis"], signal.SIGKILL)

    assert eventually(lambda: value_of(url, "kept"), within=20) == "yes"
    eventually(lambda: ocw.runtime.pids.get("redis", 0) not in (0, ready["pids"]["redis"]), within=10)


def test_a_write_interrupted_by_a_crash_does_not_reappear_after_another_crash(ocw: Ocw) -> None:
    """The interrupted commit is repeated, so its answer must not appear twice after any restart."""
    up = ocw.up("--no-flower")["pid"]
    kill_redis(
        ocw, up, leaving=b"*1\r\n$5\r\nMULTI\r\n*3\r\n$5\r\nRPUSH\r\n$3\r\nlog\r\n$6\r\nanswer\r\n*4\r\n$4\r\nHS"
    )
    with redis.Redis.from_url(ocw.runtime.redis_url, decode_responses=True) as client:
        assert client.lrange("log", 0, -1) == []
        client.eval("redis.call('RPUSH', 'log', 'answer'); redis.call('HSET', 'session', 'state', 'idle')", 0)
        eventually(lambda: client.info("commandstats").get("cmdstat_bgrewriteaof"), within=20)
        eventually(lambda: is_rewritten(client), within=20)

        kill_redis(ocw, up)

        assert client.lrange("log", 0, -1) == ["answer"]


def kill_redis(ocw: Ocw, up: int, *, leaving: bytes = b"") -> None:
    """Kill Redis, append this to its file, and wait until it runs again."""
    killed = ocw.runtime.pids["redis"]
    os.kill(up, signal.SIGSTOP)
    try:
        os.kill(killed, signal.SIGKILL)
        with journal_of(ocw.state_dir / "redis").open("ab") as journal:
            journal.write(leaving)
    finally:
        os.kill(up, signal.SIGCONT)
    eventually(lambda: ocw.runtime.pids.get("redis", killed) != killed, within=20)
    eventually(lambda: answers(ocw.runtime.redis_url), within=20)


def test_a_second_up_continues_with_the_same_state(ocw: Ocw) -> None:
    ocw.up("--no-flower")
    first_url = ocw.runtime.redis_url
    with redis.Redis.from_url(first_url) as client:
        client.set("kept", "yes")
    ocw("down")

    ocw.up("--no-flower")

    assert value_of(ocw.runtime.redis_url, "kept") == "yes"
    assert ocw.runtime.redis_url == first_url


def test_a_second_up_names_the_running_one_and_does_not_disturb_it(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower")

    for options in ([], ["--detach"]):
        done = ocw("up", "--no-flower", *options)
        assert done.returncode == 6
        assert f"pid {ready['pid']}" in done.stderr
    assert psutil.pid_exists(ready["pids"]["worker-main"])


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ties children to their parent on Linux only")
def test_the_children_of_a_killed_up_end_and_the_next_up_finds_the_data(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower")
    children = [psutil.Process(pid) for pid in ready["pids"].values()]
    with redis.Redis.from_url(ocw.runtime.redis_url) as client:
        client.set("kept", "yes")

    os.kill(ready["pid"], signal.SIGKILL)
    again = ocw.up("--no-flower")

    assert again["pid"] != ready["pid"]
    assert value_of(ocw.runtime.redis_url, "kept") == "yes"
    eventually(lambda: not any(is_alive(process) for process in children), within=45)


def test_two_run_side_by_side(ocw: Ocw, tmp_path: Path) -> None:
    second = Ocw(tmp_path / "second")
    starting = [
        subprocess.Popen(each.argv("up", "--detach", "--json"), env=each.env, stdout=subprocess.PIPE)
        for each in (ocw, second)
    ]
    try:
        ready = [json.loads(process.communicate(timeout=120)[0]) for process in starting]
        assert len({one["redisUrl"] for one in ready}) == 2
        assert len({one["flowerUrl"] for one in ready}) == 2
        assert len({one["ingressUrl"] for one in ready}) == 2
        assert all(one["pids"].keys() == {"redis", "flower", "ingress"} | WORKERS for one in ready)
    finally:
        second("down")


def test_a_configured_redis_replaces_the_private_one(tmp_path: Path, redis_server: RedisServer) -> None:
    ocw = Ocw(tmp_path / "state", REDIS_URL=redis_server.url)
    try:
        ready = ocw.up("--no-flower")
        assert ready["pids"].keys() == {"ingress"} | WORKERS
        assert not (ocw.state_dir / "redis").exists()
        assert list(ready["unsafeSettings"]) == ["appendonly"], "this server has no AOF"
    finally:
        ocw("down")


def test_ctrl_c_in_the_foreground_stops_everything_and_succeeds(ocw: Ocw) -> None:
    ocw.state_dir.mkdir()
    (ocw.state_dir / "openclaw.yaml").write_text("tools: {deny: [exec]}\nsandbox: {mode: all}\n")
    process = subprocess.Popen(
        ocw.argv("up", "--no-flower"),
        env=ocw.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runtime = eventually(lambda: read_runtime(ocw.state_dir), within=60)
    children = [psutil.Process(pid) for pid in runtime.pids.values()]

    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)

    assert process.returncode == 0, stderr
    assert "OpenClaw Workers is up." in stdout
    assert f"  Model    offline/demo\n  Config   {ocw.state_dir / 'openclaw.yaml'}\n" in stdout
    assert "Agents answer with the built-in model offline/demo." in stdout
    assert 'agent -m "hello"' in stdout
    assert not any(is_alive(child) for child in children)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("redis/redis.conf", "# the Redis of my project\nmaxmemory 1gb\n"),
        ("runtime.json", '{"runtime": "node", "version": 18}'),
    ],
)
def test_a_file_of_another_project_in_the_state_directory_is_not_touched(ocw: Ocw, name: str, content: str) -> None:
    path = ocw.state_dir / name
    path.parent.mkdir(parents=True)
    path.write_text(content)

    for options in (["--detach"], []):
        done = ocw("up", "--no-flower", *options)
        assert done.returncode == 2, done.stderr
        assert f"{path} was not written by `ocw up`" in done.stderr
        assert path.read_text() == content


ODD_ONES = ("up.lock", "redis.json", "runtime.json")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param("file", "cannot be used", id="a file where the directory should be"),
        pytest.param("aof", "is damaged", id="an append-only file that is not one"),
        pytest.param("middle", "is damaged", id="an append-only file with a foreign command in it"),
        pytest.param("manifest", "would start empty", id="append-only files without their manifest"),
        pytest.param("base", ".base.rdb", id="a snapshot that was written over"),
        *(pytest.param(name, f"{name} cannot be used", id=f"a directory named {name}") for name in ODD_ONES),
    ],
)
def test_a_damaged_state_directory_is_explained(ocw: Ocw, damage: str, expected: str) -> None:
    if damage == "file":
        ocw.state_dir.write_text("")
    elif damage in ODD_ONES:
        (ocw.state_dir / damage).mkdir(parents=True)
    else:
        ocw.up("--no-flower")
        ocw("down")
        damage_data(ocw.state_dir / "redis", damage)

    for options in ([], ["--detach"]):
        done = ocw("up", *options)
        assert done.returncode == 2
        assert expected in done.stderr
        assert "Traceback" not in done.stderr


def damage_data(folder: Path, damage: str) -> None:
    whole = {"aof": b"this is not what Redis wrote\r\n", "middle": b"*1\r\n$7\r\nforeign\r\n"}
    if damage in whole:
        for path in folder.rglob("*.aof"):
            path.write_bytes(whole[damage] * 10)
    elif not (folder / "appendonlydir").exists():
        pytest.skip("Redis 6.2 keeps one file, and no manifest")
    elif damage == "manifest":
        (folder / "appendonlydir" / "appendonly.aof.manifest").unlink()
    else:
        [base] = folder.rglob("*.base.rdb")
        with base.open("r+b") as file:
            file.seek(base.stat().st_size // 2)
            file.write(b"\xff" * 20)


def test_a_failed_start_has_the_same_exit_code_in_foreground_and_background(tmp_path: Path) -> None:
    ocw = Ocw(tmp_path / "state", REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")
    for options in ([], ["--detach"]):
        done = ocw("up", *options)
        assert done.returncode == 4
        assert "error: Redis did not answer" in done.stderr

    done = ocw("up", "--detach", "--json")
    assert json.loads(done.stdout)["error"]["type"] == "StoreUnavailable"


def test_an_unreadable_runtime_file_is_ignored_with_a_note(ocw: Ocw) -> None:
    ocw.state_dir.mkdir()
    (ocw.state_dir / "runtime.json").write_text("garbage")

    ocw.up("--no-flower")

    assert "runtime.ignored" in (ocw.state_dir / "logs" / "up.log").read_text()


def value_of(url: str, key: str) -> str | None:
    try:
        with redis.Redis.from_url(url, decode_responses=True) as client:
            value: Any = client.get(key)
            return str(value) if value is not None else None
    except redis.ConnectionError:
        return None


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_edited_file_is_published_without_a_restart_and_a_wrong_one_changes_nothing(ocw: Ocw) -> None:
    def main_key() -> Any:
        return json.loads(ocw("config", "show", "session.mainKey", "--json").stdout)["values"][0]["value"]

    ocw.state_dir.mkdir()
    file, log = ocw.state_dir / "openclaw.yaml", ocw.state_dir / "logs" / "up.log"
    file.write_text("session: {mainKey: one}\n")
    ocw.up("--no-flower", "--no-ingress")
    assert main_key() == "one"

    file.write_text("session: {mainKey: two}\n")
    eventually(lambda: "config.published version=2 changed=session.mainKey" in log.read_text(), within=60)
    assert main_key() == "two"

    file.write_text("session: {mainKey: 3}\n")
    eventually(lambda: "config.not_published" in log.read_text(), within=60)
    assert main_key() == "two"


def test_a_variable_that_is_not_set_concerns_only_what_needs_it(ocw: Ocw) -> None:
    config = """
      agents: {defaults: {model: {primary: box/m, fallbacks: [offline/demo]}}}
      models: {providers: {box: {baseUrl: "${BOX_URL}", apiKey: "${BOX_KEY}", models: [{id: m}]}}}
      mcp: {servers: {far: {url: "${FAR_URL}"}}}
      channels: {telegram: {webhook: {url: "https://bot.example", secret: "${HOOK}"}}}
    """
    ocw.state_dir.mkdir()
    (ocw.state_dir / "openclaw.yaml").write_text(config)
    started = ocw("up", "--detach", "--no-flower")

    assert started.returncode == 0, started.stderr
    assert "note: models.providers.box.baseUrl needs BOX_URL, not set on this host" in started.stderr
    for command in (("status",), ("usage",), ("runs", "list"), ("models", "status"), ("agents", "list")):
        assert ocw(*command).returncode == 0
    answered = ocw("agent", "-m", "hello", "--json")
    assert answered.returncode == 0, answered.stdout + answered.stderr
    assert json.loads(answered.stdout)["model"] == "offline/demo"


def test_init_leads_from_nothing_to_the_first_answer(ocw: Ocw) -> None:
    with Terminal(ocw, "init") as terminal:
        terminal.shows("Provider (anthropic, openai, none)")
        terminal.type("none\r")
        terminal.shows("Token of a Telegram bot")
        terminal.type("\r")
        terminal.shows("Start it now?")
        terminal.type("\r")
        terminal.shows("offline/demo, a small built-in stand-in", within=90)

        assert terminal.wait(within=60) == 0
        assert "Next: " in terminal.drawn
    assert json.loads(ocw("status", "--json").stdout)["configuration"]["version"] == 1


def test_init_never_shows_a_key_that_is_typed(ocw: Ocw) -> None:
    key = "sk-typed-unseen-0123"
    with Terminal(ocw, "init", "--no-start") as terminal:
        terminal.shows("Provider")
        terminal.type("openai\r")
        terminal.shows("API key of openai:")
        terminal.type(f"{key}\r")
        terminal.shows("Model [openai/gpt-5]")
        terminal.type("gpt-5-mini\r")
        terminal.shows("dollars a day")
        terminal.type("2\r")
        terminal.shows("Token of a Telegram bot")
        terminal.type("nonsense\r")
        terminal.shows("that is not a Telegram token")
        terminal.type("\r")

        assert terminal.wait() == 0
        assert key not in terminal.drawn
        assert "nonsense" not in terminal.drawn
    assert key in (ocw.state_dir / ".env").read_text()
    assert "cost: 2.0" in (ocw.state_dir / "openclaw.yaml").read_text()
