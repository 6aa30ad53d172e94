"""`ocw agent` while workers and Redis die: it reports that, and prints the one committed answer."""

from __future__ import annotations

import json
import socket

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw, finish
from tests.support.programs import as_text, program, say
from tests.support.waiting import eventually

TEXT = "one two three four five six"
SLOWLY = {"text": TEXT, "chunks": 6, "chunkDelayMs": 500}


def test_a_killed_worker_is_reported_and_the_answer_is_printed_once(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    process = Ocw(bare_fleet).start("agent", "-m", as_text(program(SLOWLY)))
    assert process.stdout is not None
    first = process.stdout.read(3)
    bare_fleet.carrier().kill()
    successor = bare_fleet.worker()

    done = finish(process)

    assert (done.code, first + done.out) == (0, TEXT + "\n")
    assert f"[worker lost, resuming on {_name(bare_fleet, successor.pid)}]" in done.err


def test_json_gives_the_committed_answer_of_a_run_that_was_taken_over(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    process = Ocw(bare_fleet).start("agent", "--json", "-m", as_text(program(SLOWLY)))
    bare_fleet.carrier().kill()
    bare_fleet.worker()

    done = finish(process)

    assert json.loads(done.out)["text"] == TEXT
    shown = Ocw(bare_fleet)("runs", "show", json.loads(done.out)["runId"], "--json").json
    carriers = [attempt["worker"].rpartition("/")[0] for attempt in shown["attempts"]]
    assert carriers == [f"{socket.gethostname()}/{worker.pid}" for worker in bare_fleet.workers]


def test_a_missing_worker_is_reported_and_waited_for(bare_fleet: Fleet) -> None:
    process = Ocw(bare_fleet).start("agent", "-m", as_text(program(say("at last"))))
    assert process.stderr is not None

    line = process.stderr.readline()
    bare_fleet.worker()
    done = finish(process)

    assert "no worker is running for lane main; start one with `ocw up`" in line
    assert (done.code, done.out) == (0, "at last\n")


def test_a_lost_redis_is_reported_and_waited_for(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    process = Ocw(bare_fleet).start("agent", "-m", as_text(program(say("still here", delay_ms=3000))))
    assert process.stderr is not None
    eventually(lambda: bare_fleet.stores.reader.control(session_key("main")).state == "running", within=20)
    bare_fleet.redis_server.kill()

    line = process.stderr.readline()
    bare_fleet.redis_server.start()
    done = finish(process)

    assert "Redis did not answer" in line
    assert "[Redis is back]" in done.err
    assert (done.code, done.out) == (0, "still here\n")


def test_a_frozen_redis_is_an_error_within_seconds_with_a_hint_to_retry(bare_fleet: Fleet) -> None:
    ocw = Ocw(bare_fleet)
    bare_fleet.redis_server.stop()
    try:
        # Otherwise it would stop before it sends anything: it reads the configuration first.
        done = ocw("--local-config", "agent", "-m", "hello", "--message-id", "mine-1", within=10)
    finally:
        bare_fleet.redis_server.cont()
    bare_fleet.worker()

    again = ocw("agent", "-m", as_text(program(say("once"))), "--message-id", "mine-1")

    assert done.code == 4
    assert "--message-id mine-1" in done.err
    assert again.code == 0
    assert len(bare_fleet.runs()) == 1


def test_a_deleted_session_ends_the_wait(bare_fleet: Fleet) -> None:
    ocw = Ocw(bare_fleet)
    process = ocw.start("agent", "--json", "--session", "doomed", "-m", "anyone?")
    eventually(lambda: bare_fleet.stores.reader.control(session_key("doomed")).state == "queued", within=20)

    assert ocw("sessions", "delete", "doomed", "--yes").code == 0
    done = finish(process)

    assert done.code == 1
    assert json.loads(done.out)["status"] in ("killed", "cancelled")


def _name(fleet: Fleet, pid: int) -> str:
    """Host and pid, as the output shows them."""
    ids = [info.id for info in fleet.stores.workers.all()]
    return next(worker.rpartition("/")[0] for worker in ids if worker.split("/")[-2] == str(pid))
