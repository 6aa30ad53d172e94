"""Workers and senders die while chats are answered: each reply is sent once, in order, or marked unknown (I6)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingState
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.programs import program, say
from tests.support.sender_process import SenderPlan
from tests.support.waiting import eventually

CHATS, MESSAGES = 4, 8


@pytest.fixture
def fleet(make_fleet: MakeFleet) -> Fleet:
    return make_fleet({"messages": {"queue": {"mode": "followup", "cap": 50}}})


@pytest.fixture
def plan(fleet: Fleet, tmp_path: Path) -> SenderPlan:
    return SenderPlan(fleet.environment()["REDIS_URL"], fleet.stores.keys.namespace, str(tmp_path / "channel"))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(plan: SenderPlan, stack: ExitStack) -> subprocess.Popen[bytes]:
    process = plan.start()
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def test_every_committed_reply_is_sent_once_while_workers_and_senders_die(
    fleet: Fleet, plan: SenderPlan, stack: ExitStack
) -> None:
    victim = fleet.worker()
    first = start(plan, stack)
    sent = [
        fleet.send(
            program(say(f"{chat}-{number}", delay_ms=150)),
            f"chat{chat}",
            route=Route(channel="telegram", account_id="bot", to=str(chat)),
        )
        for number in range(MESSAGES)
        for chat in range(CHATS)
    ]

    # When the worker dies with turns in flight, and the sender with replies in flight
    eventually(lambda: len(plan.arrived()) >= CHATS, within=30)
    victim.kill()
    first.kill()
    first.wait()
    fleet.worker()
    for _ in range(2):
        start(plan, stack)

    # Then each message is answered once, and each answer is in its chat once, in order, or known to be uncertain
    check(fleet.stores, sent, one_each=True)
    outbox = fleet.stores.outbox
    eventually(lambda: outbox.counts().queued == 0, within=30)
    entries = outbox.entries(with_sent=True, limit=1000)
    assert {entry.message.kind for entry in entries} == {OutgoingKind.REPLY}
    assert sorted(entry.message.run_id for entry in entries) == sorted(run.id for run in fleet.runs())
    unknown = {entry.message.text for entry in entries if entry.state is OutgoingState.UNKNOWN}
    assert len(unknown) <= CHATS, "one for each chat that was being sent to"
    for chat in range(CHATS):
        texts = [each["text"] for each in plan.arrived() if each["to"] == str(chat)]
        wanted = [f"{chat}-{number}" for number in range(MESSAGES)]
        assert texts == [text for text in wanted if text in texts], "once, and in order"
        assert set(wanted) - set(texts) <= unknown
