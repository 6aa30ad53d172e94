"""Redis dies, freezes, or has not started yet (I1, I8)."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable

import pytest

from openclaw_workers.domain.ids import BatchId, MessageId, RunId
from openclaw_workers.domain.messages import Authority, MessageState, Route
from openclaw_workers.engine.client_graph import intake_of
from openclaw_workers.engine.stores import open_stores
from openclaw_workers.errors import StoreUnavailable
from tests.support.checker import check
from tests.support.fleet import Fleet, session_key
from tests.support.load import Load
from tests.support.ocw import Ocw, finish
from tests.support.programs import Program, call, mark, program, say
from tests.support.redis_server import free_port
from tests.support.slow_redis import SlowProxy
from tests.support.waiting import eventually

ANSWERED_WITHIN_SECONDS = 3
"""The promised limit for accepting a message, whatever Redis does."""
BROKER_LOST = "Connection to broker lost"


def small_turn(number: int) -> Program:
    if number % 10 == 0:
        return program(call(mark(f"mark-{number}")), say(str(number)))
    return program(say(str(number), delay_ms=20))


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_redis_killed_under_load_loses_no_accepted_message(fleet: Fleet, pool: str) -> None:
    fleet.ready(*(fleet.worker(pool=pool, wait=False) for _ in range(2)))
    with Load(fleet, small_turn, sessions=20) as load:
        for _ in range(2):
            load.more(60)
            fleet.redis_server.restart()
        load.more(60)

    check(fleet.stores, load.sent, one_each=True)
    assert {fleet.receipt(queued).state for queued in load.sent} == {MessageState.ANSWERED}
    assert max(fleet.count(f"mark-{number}") for number in range(0, len(load.sent), 10)) == 1


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_keeps_its_turns_and_consumes_again_after_each_restart_of_redis(fleet: Fleet, pool: str) -> None:
    """One child of the pool runs a turn while the others wait for messages; Celery has to reconnect all of them."""
    worker = fleet.worker(pool=pool)
    for number in range(2):
        turn = fleet.send(program(say("long", delay_ms=1_500)), "long")
        eventually(lambda: fleet.carries(worker) == 1, within=20)
        fleet.redis_server.restart()
        following = fleet.send(small_turn(number), "short")

        assert fleet.outcome(following).text == str(number)
        long = fleet.outcome(turn)
        assert long.run is not None
        assert len(long.run.attempts) == 1
    assert worker.is_running()


def test_a_pool_child_killed_after_a_restart_of_redis_does_not_end_its_worker(fleet: Fleet) -> None:
    """Celery rejects the dead child's message on the connection it arrived by, which is gone."""
    worker = fleet.worker(pool="prefork")
    turn = fleet.send(program(call(mark("tool")), say("went on", delay_ms=2_500)))
    eventually(lambda: fleet.carries(worker) == 1 and fleet.count("tool") == 1, within=20)
    owner = fleet.stores.reader.control(session_key("main")).owner
    assert owner is not None
    fleet.redis_server.restart()
    following = fleet.send(small_turn(1), "other")
    assert fleet.outcome(following).text == "1", "it did not reconnect"

    os.kill(int(owner.rsplit("/", 2)[1]), signal.SIGKILL)

    outcome = fleet.outcome(turn)
    assert outcome.text == "went on"
    assert outcome.run is not None
    assert [attempt.how for attempt in outcome.run.attempts] == ["taken", "takeover"]
    # Celery handles a lost child's task ten seconds later.
    eventually(lambda: not worker.is_running() or "WorkerLostError" in worker.log_text(), within=30)
    assert fleet.outcome(fleet.send(small_turn(3), "after")).text == "3"
    assert worker.is_running()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
@pytest.mark.parametrize("what", ["demoted", "without replicas"])
def test_a_worker_survives_a_redis_that_is_read_only_for_a_while(fleet: Fleet, pool: str, what: str) -> None:
    """As during a failover, the server answers with refusals. Neither the worker nor its turn ends."""
    worker, admin = fleet.worker(pool=pool), fleet.stores.redis
    held = fleet.send(program(say("first", delay_ms=2_000)))
    fleet.carrier()
    if what == "demoted":
        admin.replicaof("127.0.0.1", free_port())
    else:
        admin.config_set("min-replicas-to-write", 1)
    eventually(lambda: "store.disconnected" in worker.log_text() and BROKER_LOST in worker.log_text(), within=20)
    admin.replicaof("no", "one")
    admin.config_set("min-replicas-to-write", 0)

    assert fleet.outcome(held).text == "first"
    assert fleet.outcome(fleet.send(program(say("second")))).text == "second"
    assert worker.is_running()
    assert fleet.stores.reader.quarantined() == []


def test_accept_fails_within_3_seconds_while_redis_is_frozen(fleet: Fleet) -> None:
    fleet.ready(*(fleet.worker(wait=False) for _ in range(2)))
    accept_through_a_freeze(fleet, seconds=8)


def accept_through_a_freeze(fleet: Fleet, *, seconds: float) -> None:
    with Load(fleet, small_turn, sessions=20) as load:
        load.more(100)
        fleet.redis_server.stop()
        frozen = time.monotonic()
        while time.monotonic() - frozen < seconds:
            begun = time.monotonic()
            with pytest.raises(StoreUnavailable):
                fleet.send(small_turn(0))
            assert time.monotonic() - begun < ANSWERED_WITHIN_SECONDS
        fleet.redis_server.cont()
        load.more(50)

    assert len(load.refusals_seconds) >= 2
    assert max(load.refusals_seconds) < ANSWERED_WITHIN_SECONDS
    check(fleet.stores, load.sent, one_each=True)
    assert {fleet.receipt(queued).state for queued in load.sent} == {MessageState.ANSWERED}


def test_publishing_fails_within_3_seconds_while_redis_is_frozen(fleet: Fleet) -> None:
    """Turns and sweepers publish, and must not block lease renewal. The sweep repeats what was not published."""
    batch, run = BatchId("batch-1"), RunId("run-1")
    fleet.waker.chord(batch, [])
    fleet.redis_server.stop()
    publishing: dict[str, Callable[[], object]] = {
        "turn": lambda: fleet.waker.turn(session_key("main"), run),
        "chord": lambda: fleet.waker.chord(batch, [(session_key("main"), run)]),
        "forget": lambda: fleet.waker.forget_chord(batch),
    }
    for what, publish in publishing.items():
        begun = time.monotonic()
        assert not publish()
        assert time.monotonic() - begun < ANSWERED_WITHIN_SECONDS, what


def test_accept_fails_within_3_seconds_with_a_slow_redis_and_the_message_is_stored_once(fleet: Fleet) -> None:
    """No single wait is too long, but connecting, the handshake and sending a script twice add up."""
    with SlowProxy(fleet.redis_server, seconds=0.9) as proxy:
        stores = open_stores(fleet.settings, proxy.url)
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable):
            intake_of(stores, fleet.waker).accept(
                "hello", session=session_key("main"), route=Route(channel="test"), message_id=MessageId("m1")
            )
        took_seconds = time.monotonic() - begun
        # The abandoned call may still succeed. The message is accepted by it or by the repeat, never twice.
        fleet.send("hello", message_id="m1")
        eventually(lambda: scripts_run(fleet) >= 2, within=20)

    assert took_seconds < ANSWERED_WITHIN_SECONDS
    assert [entry.id for entry in fleet.stores.inbox.waiting(session_key("main"))] == ["m1"]


@pytest.mark.parametrize("command", ["/stop", "/status", "/queue steer"])
def test_a_command_fails_within_3_seconds_with_a_slow_redis(fleet: Fleet, command: str) -> None:
    with SlowProxy(fleet.redis_server, seconds=0.9) as proxy:
        intake = intake_of(open_stores(fleet.settings, proxy.url), fleet.waker)
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable):
            intake.accept(command, session=session_key("main"), route=Route(channel="test"), authority=Authority.OWNER)
        assert time.monotonic() - begun < ANSWERED_WITHIN_SECONDS


def scripts_run(fleet: Fleet) -> int:
    stats = fleet.stores.redis.info("commandstats")
    return int(stats.get("cmdstat_evalsha", {"calls": 0})["calls"])


def test_ocw_agent_fails_within_3_seconds_if_redis_does_not_answer(fleet: Fleet) -> None:
    """Measured from its first connection to its error. The server accepts and is silent, like a frozen Redis."""
    ocw = Ocw(fleet)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        frozen.settimeout(60)
        ocw.env["REDIS_URL"] = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        process = ocw.start("agent", "-m", "hello")
        connection, _ = frozen.accept()
        asked = time.monotonic()
        assert process.stderr is not None
        error = process.stderr.readline()
        took_seconds = time.monotonic() - asked
        done = finish(process)
        connection.close()

    assert done.code == 4, done
    assert "the message was not accepted" in error
    assert took_seconds < ANSWERED_WITHIN_SECONDS


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_started_before_redis_connects_by_itself(fleet: Fleet, pool: str) -> None:
    fleet.redis_server.kill()
    worker = fleet.worker(pool=pool, wait=False)
    eventually(lambda: "waiting for Redis" in worker.log_text(), within=60)

    fleet.redis_server.start()
    queued = fleet.send(small_turn(1))

    assert fleet.outcome(queued).text == "1"
    assert worker.is_running()


def test_a_worker_with_a_wrong_password_says_so_while_it_waits(fleet: Fleet) -> None:
    wrong = fleet.redis_server.url.replace("redis://", "redis://nobody:hidden@")
    worker = fleet.worker(wait=False, REDIS_URL=wrong)

    eventually(lambda: "waiting for Redis: Redis refused the user or password" in worker.log_text(), within=60)
    assert "hidden" not in worker.log_text()

    with fleet.redis_server.client() as client:
        client.acl_setuser(
            "nobody", enabled=True, passwords=["+hidden"], keys=["*"], channels=["*"], categories=["+@all"]
        )

    assert fleet.outcome(fleet.send(small_turn(1))).text == "1"


def test_a_consumer_whose_server_froze_and_was_replaced_consumes_again_soon(fleet: Fleet) -> None:
    """Nothing closes the connection on which the worker waits for messages; by default it would wait for 51 s."""
    with SlowProxy(fleet.redis_server) as proxy:
        fleet.worker(REDIS_URL=proxy.url)
        assert fleet.outcome(fleet.send(program(say("before")))).text == "before"

        proxy.silence()

        assert fleet.outcome(fleet.send(program(say("after"))), within=30).text == "after"
