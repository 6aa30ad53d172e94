"""Turns under `ocw up` while their worker or `ocw up` itself is killed or stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.state_dir import read_runtime
from openclaw_workers.store.reader import Reader
from tests.integration.test_up import Ocw
from tests.support.programs import as_text, call, mark, program, say
from tests.support.waiting import eventually

MAIN = SessionKey("agent:main:main")
GRACE_SECONDS = 5
SCRIPTED = f"""
agents: {{defaults: {{model: offline/script}}}}
engine: {{graceSeconds: {GRACE_SECONDS}}}
messages: {{queue: {{mode: followup}}}}
"""


@pytest.fixture
def ocw(tmp_path: Path) -> Iterator[Ocw]:
    command = Ocw(tmp_path / "state")
    yield command
    command("down")


@contextmanager
def reading(ocw: Ocw) -> Iterator[Reader]:
    stores = open_stores(Settings(), ocw.runtime.redis_url)
    try:
        yield stores.reader
    finally:
        stores.redis.close()


@contextmanager
def asking(ocw: Ocw, message: str) -> Iterator[subprocess.Popen[str]]:
    argv = ocw.argv("agent", "--json", "-m", message)
    with subprocess.Popen(argv, env=ocw.env, stdout=subprocess.PIPE, text=True) as client:
        try:
            yield client
        finally:
            client.kill()


def ask_json(ocw: Ocw, *words: str) -> Any:
    done = ocw(*words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_after_a_worker_is_killed_during_an_answer_the_answer_arrives_once(ocw: Ocw) -> None:
    killed = ocw.up("--no-flower")["pids"]["worker-main"]
    with asking(ocw, "count to 6 slowly") as client:
        with reading(ocw) as reader:
            eventually(lambda: [event for event in reader.events(MAIN, "0") if event.type == "text.delta"], within=60)
        os.killpg(killed, signal.SIGKILL)
        answer = json.loads(client.communicate(timeout=120)[0])

    assert (client.returncode, answer["status"], answer["text"]) == (0, "ok", "1 2 3 4 5 6 – done.")
    run = ask_json(ocw, "runs", "show", answer["runId"])
    assert [attempt["how"] for attempt in run["attempts"]] == ["taken", "takeover"]
    now = ocw.runtime.pids["worker-main"]
    assert now != killed
    assert [int(attempt["worker"].split("/")[1]) for attempt in run["attempts"]] == [killed, now]
    assert [entry["role"] for entry in ask_json(ocw, "sessions", "history", "main")] == ["user", "assistant"]
    assert len(ask_json(ocw, "runs", "list")["runs"]) == 1
    log = (ocw.state_dir / "logs" / "up.log").read_text()
    assert re.findall(r"child\.died name=(\S+) how='killed by SIGKILL' .*restartInSeconds=\d", log) == ["worker-main"]


def test_the_next_up_answers_interrupted_and_waiting_messages_once(ocw: Ocw, tmp_path: Path) -> None:
    ocw.state_dir.mkdir()
    (ocw.state_dir / "openclaw.yaml").write_text(SCRIPTED)
    long_ms = (GRACE_SECONDS + 10) * 1000  # long enough to send the second message from another process
    first = as_text(program(call(mark("tool")), say("first", delay_ms=long_ms)))
    second = as_text(program(call(mark("other")), say("second")))
    with (tmp_path / "foreground").open("w") as screen:
        up = subprocess.Popen(
            ocw.argv("up", "--no-flower"), env=ocw.env, stdout=screen, stderr=screen, start_new_session=True
        )
    eventually(lambda: read_runtime(ocw.state_dir), within=60)
    running = ask_json(ocw, "agent", "--no-wait", "--message-id", "m1", "-m", first)["runId"]
    ask_json(ocw, "agent", "--no-wait", "--message-id", "m2", "-m", second)
    with reading(ocw) as reader:
        eventually(lambda: [entry.role for entry in reader.transcript(MAIN)][2:] == ["toolResult"], within=60)

    up.send_signal(signal.SIGINT)
    assert up.wait(timeout=60) == 0, (tmp_path / "foreground").read_text()
    ocw.up("--no-flower")
    # Sending a message again waits for its answer.
    answers = [
        ask_json(ocw, "agent", "--message-id", name, "-m", text) for name, text in (("m1", first), ("m2", second))
    ]

    assert [(answer["status"], answer["text"]) for answer in answers] == [("ok", "first"), ("ok", "second")]
    assert answers[0]["runId"] == running
    attempts = [ask_json(ocw, "runs", "show", answer["runId"])["attempts"] for answer in answers]
    assert [[attempt["how"] for attempt in each] for each in attempts] == [["taken", "handover"], ["taken"]]
    for name in ("tool", "other"):
        assert (ocw.state_dir / "workspace" / name).read_text() == "run\n"
    turn = ["user", "assistant", "toolResult", "assistant"]
    assert [entry["role"] for entry in ask_json(ocw, "sessions", "history", "main")] == turn * 2
