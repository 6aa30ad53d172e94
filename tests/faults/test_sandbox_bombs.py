"""A command in a sandbox takes all it can get; the worker is unharmed and other sessions are answered meanwhile."""

from __future__ import annotations

import shlex

import pytest

from openclaw_workers.domain.messages import MessageState
from tests.faults.conftest import MakeFleet
from tests.support.fleet import Fleet
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually

pytestmark = pytest.mark.needs("bubblewrap")

ALLOWED = 24
FORKS = """
import os, sys, time
made = 0
for _ in range(60):
    try:
        if os.fork() == 0:
            while True: pass
    except OSError:
        break
    made += 1
open("made", "w").write(str(made))
while True: time.sleep(1)
"""
MEMORY = "held = []\nwhile True: held.append(bytearray(8 << 20))"
DISK = """
number = 0
while True:
    try: open(f"f{number % 50}", "wb").write(bytes(1 << 20))
    except OSError: pass
    number += 1
    if number == 30: open("made", "w").write("0")
"""
BOMBS = {
    "forks": f"exec python3 -c {shlex.quote(FORKS)}",
    "memory": f"while :; do python3 -c {shlex.quote(MEMORY)}; echo 0 > made; done",  # killed, and begun again
    "disk": f"exec python3 -c {shlex.quote(DISK)}",
}


@pytest.fixture
def boxed(make_fleet: MakeFleet) -> Fleet:
    limits = {"processes": ALLOWED, "memory": "200mb", "disk": "1gb", "tmp": "16mb", "cpuSeconds": 600, "seconds": 600}
    return make_fleet(
        {"agents": {"list": [{"id": "main"}, {"id": "boxed", "sandbox": {"mode": "all", "limits": limits}}]}}
    )


@pytest.mark.parametrize("bomb", BOMBS)
def test_other_sessions_are_answered_while_a_bomb_goes_off_in_a_sandbox(boxed: Fleet, bomb: str) -> None:
    worker = boxed.worker()
    session = "agent:boxed:main"
    going_off = boxed.send(program(call(execute(BOMBS[bomb])), say("over")), session)
    made = eventually(lambda: list((boxed.state_dir / "sandboxes").rglob("made")), within=60)
    eventually(made[0].read_text, within=60)
    assert int(made[0].read_text()) < ALLOWED

    for number in range(10):
        answered = boxed.outcome(boxed.send(program(say(f"answer {number}")), "neighbour"), within=60)
        assert answered.text == f"answer {number}"
        assert len(answered.run.attempts if answered.run else []) == 1
    assert boxed.receipt(going_off).state is MessageState.BOUND
    assert worker.is_running()

    boxed.command("/stop", session)
    eventually(lambda: boxed.receipt(going_off).state is MessageState.CANCELLED, within=60)
