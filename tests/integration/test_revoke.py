"""Revoking a task in Celery or Flower stops the run; no wake-up is lost."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.store.wake_messages import SCHEMA_HEADER
from openclaw_workers.tasks.waker import TURN
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import call, program, say, spawn
from tests.support.tree import batch_of, children_of
from tests.support.waiting import eventually

FOR_EVER = program(say("never", delay_ms=60_000))
ASK = {"tool": "ask_user", "input": {"question": "Go on?"}}


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_revoking_a_queued_run_stops_it_and_its_session_continues(bare_fleet: Fleet, pool: str) -> None:
    # Given a worker whose only slot is taken, and a run that waits for the slot
    bare_fleet.worker(concurrency=1, pool=pool)
    busy = bare_fleet.send(FOR_EVER, "busy")
    bare_fleet.carrier("busy")
    waiting = bare_fleet.send(program(say("never")), "waiting")

    # When the waiting run and the running one are revoked
    bare_fleet.tell_workers("revoke", task_id=waiting.run)
    stopped = bare_fleet.outcome(waiting, within=10)
    bare_fleet.tell_workers("revoke", task_id=[busy.run], terminate=True, signal="SIGKILL")

    # Then both end as stopped, no worker dies, and both sessions answer their next message
    assert stopped.receipt.state is MessageState.CANCELLED
    assert bare_fleet.run(waiting.run).state is RunState.KILLED
    assert bare_fleet.run(waiting.run).reason == "revoked"
    ended = bare_fleet.outcome(busy, within=10).run
    assert ended is not None
    assert (ended.state, ended.reason, ended.attempt) == (RunState.KILLED, "revoked", 1)
    for session in ("waiting", "busy"):
        assert bare_fleet.outcome(bare_fleet.send(program(say("well")), session), within=10).text == "well"


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_celery_control_stops_a_run_that_waits_for_a_person_or_another_session(bare_fleet: Fleet, pool: str) -> None:
    # Given a run that asked a question, and one that waits for the answer of a busy session; both hold no worker
    bare_fleet.worker(pool=pool)
    asks = bare_fleet.send(program(call(ASK), say("never")), "asks")
    bare_fleet.send(FOR_EVER, "busy")
    bare_fleet.carrier("busy")
    waits = bare_fleet.send(program(call(wait_for("busy")), say("never")), "waits")
    for name in ("asks", "waits"):
        eventually(lambda name=name: is_parked(bare_fleet, name), within=30)  # type: ignore[misc]

    # When both are revoked on the command line
    argv = [sys.executable, "-m", "celery", "-A", "openclaw_workers.tasks.app", "control"]
    for words in (["revoke", str(asks.run)], ["terminate", "KILL", str(waits.run)]):
        subprocess.run([*argv, *words], env=bare_fleet.environment(), cwd=bare_fleet.state_dir, check=True)

    # Then both end as stopped, the question is closed, and both sessions answer their next message
    for sent, name in ((asks, "asks"), (waits, "waits")):
        ended = bare_fleet.outcome(sent, within=30).run
        assert ended is not None
        assert (ended.state, ended.reason) == (RunState.KILLED, "revoked")
        assert bare_fleet.outcome(bare_fleet.send(program(say("well")), name), within=30).text == "well"
    assert bare_fleet.stores.questions.open() == []


def is_parked(fleet: Fleet, session: str) -> bool:
    return fleet.stores.reader.control(session_key(session)).state == "parked"


def wait_for(session: str) -> dict[str, Any]:
    given = {"sessionKey": session_key(session), "message": "well?", "timeoutSeconds": 300}
    return {"tool": "sessions_send", "input": given}


def test_the_terminate_command_is_also_a_stop(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    busy = bare_fleet.send(FOR_EVER)
    bare_fleet.carrier()

    bare_fleet.tell_workers("terminate", signal="KILL", task_id=[busy.run])

    ended = bare_fleet.outcome(busy, within=10).run
    assert ended is not None
    assert (ended.state, ended.reason) == (RunState.KILLED, "revoked")


def test_a_revoked_sub_agent_is_announced_as_stopped(bare_fleet: Fleet) -> None:
    bare_fleet.ready(*start_workers(bare_fleet, "main", "subagent", "service"))
    bare_fleet.send(program(spawn(FOR_EVER), say("spawned"), say("heard")), "root")
    child = eventually(lambda: next(iter(children_of(bare_fleet.stores, session_key("root"))), None), within=10)

    bare_fleet.tell_workers("revoke", task_id=child.id)

    batch = eventually(lambda: _announced(bare_fleet), within=15)
    assert batch is BatchState.DELIVERED
    assert bare_fleet.run(child.id).state is RunState.KILLED


def _announced(fleet: Fleet) -> BatchState | None:
    (child,) = children_of(fleet.stores, session_key("root"))
    state = batch_of(fleet.stores, child).state
    return state if state is BatchState.DELIVERED else None


def test_a_task_that_is_not_a_run_is_not_revoked(bare_fleet: Fleet) -> None:
    bare_fleet.worker()

    (reply,) = bare_fleet.tell_workers("revoke", task_id=["run-unknown", "archive-1"])

    assert "no such run: archive-1, run-unknown" in reply["ok"]


def test_a_wake_up_of_newer_code_is_left_to_the_sweep(bare_fleet: Fleet) -> None:
    """Its form is not known, so it is not run; the sweep publishes one from the records."""
    worker = bare_fleet.worker()
    sent = bare_fleet.send(program(say("well")), lose_wake_up=True)

    newer = {SCHEMA_HEADER: SCHEMA + 1}
    bare_fleet.celery.send_task(TURN, args=[sent.session_key, sent.run], queue="main", task_id=sent.run, headers=newer)

    assert bare_fleet.outcome(sent, within=30).text == "well"
    assert "task.newer" in worker.log_text()


def test_a_wake_up_survives_the_revoked_list_of_other_workers(bare_fleet: Fleet) -> None:
    """Workers exchange their lists of revoked tasks when they start, and keep them for hours."""
    bare_fleet.worker()
    sent = bare_fleet.send(program(say("well")), lose_wake_up=True)

    bare_fleet.tell_workers("hello", from_node="another", revoked=[sent.run])
    bare_fleet.waker.turn(sent.session_key, bare_fleet.run(sent.run).id)

    assert bare_fleet.outcome(sent, within=10).text == "well"
