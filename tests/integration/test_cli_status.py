"""`ocw status`: workers, waiting messages, leases."""

from __future__ import annotations

import socket

from openclaw_workers.store.archives import Place
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw
from tests.support.programs import program, say
from tests.support.waiting import eventually


def test_status_shows_workers_lanes_and_leases(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "busy")
    run = live_fleet.send(program(gate.step, say("busy")), "busy").run
    eventually(lambda: live_fleet.stores.reader.control(session_key("busy")).state == "running", within=20)
    live_fleet.send(program(say("later")), "busy")

    status = ocw_cli("status", "--json").json
    text = ocw_cli("status").out
    gate.open()

    [worker] = status["workers"]
    assert (worker["host"], worker["pid"]) == (socket.gethostname(), live_fleet.workers[0].pid)
    assert (worker["lane"], worker["concurrency"], worker["alive"]) == ("main", 4, True)
    assert worker["runs"] == [run]
    lanes = {lane["lane"]: lane for lane in status["lanes"]}
    assert list(lanes) == ["main", "subagent", "service"]
    assert (lanes["main"]["workers"], lanes["main"]["running"], lanes["main"]["waiting"]) == (1, 1, 1)
    assert lanes["main"]["oldestWaitingAt"] <= status["at"]
    [lease] = status["leases"]
    assert (lease["sessionKey"], lease["runId"], lease["worker"]) == ("agent:main:busy", run, worker["id"])
    assert 0 < lease["leaseLeftMs"] <= 2000
    assert status["totals"]["running"] == 1
    assert str(run) in text
    assert str(worker["pid"]) in text


def test_wake_ups_without_a_worker_are_counted(bare_fleet: Fleet) -> None:
    bare_fleet.send("hello", "one")
    bare_fleet.send("hello", "two")

    status = Ocw(bare_fleet)("status", "--json").json
    text = Ocw(bare_fleet)("status").out

    assert status["workers"] == []
    assert (status["lanes"][0]["queued"], status["lanes"][0]["waiting"]) == (2, 2)
    assert "no workers; start some with `ocw up`" in text


def test_damaged_records_are_reported_and_hide_nothing_else(bare_fleet: Fleet) -> None:
    ocw, stores, key = Ocw(bare_fleet), bare_fleet.stores, session_key("one")
    run, message = bare_fleet.send("hello", "one").run, bare_fleet.send("again", "one").message_id
    bare_fleet.send("hello", "two")
    stores.redis.zadd(stores.keys.inbox(key), {"{half a message": 0, '{"id": "of another version"}': -1})
    stores.redis.hset(stores.keys.receipts(key), message, "{half a receipt")
    stores.redis.hset(stores.keys.ctl(key), mapping={"lease_until": "soon", "attempt": "?"})
    stores.redis.hset(stores.keys.run(str(run)), "attempts", "{")

    shown = ocw("runs", "show", str(run), "--json")
    status, text = ocw("status", "--json").json, ocw("status").out

    assert (status["lanes"][0]["waiting"], status["lanes"][0]["queued"]) == (5, 2)
    assert status["lanes"][0]["oldestWaitingAt"] is not None, "the other session is missing"
    assert (shown.code, shown.json["error"]["type"]) == (1, "CorruptRecord")
    assert "1 damaged record(s) quarantined" in text
    assert ocw("sessions", "show", "one", "--json").json["receipts"] == {"accepted": 1, "unreadable": 1}
    assert len(ocw("sessions", "list", "--json").json["sessions"]) == 2


def test_a_killed_worker_is_shown_as_silent_and_one_that_left_is_not_shown(bare_fleet: Fleet) -> None:
    killed, leaving = bare_fleet.worker(), bare_fleet.worker()
    killed.kill()
    leaving.term()
    leaving.wait()
    # A worker counts as dead after 15 silent seconds. Age its record instead of waiting.
    [silent] = bare_fleet.stores.workers.all()
    bare_fleet.stores.redis.zincrby(bare_fleet.stores.keys.workers, -20_000, silent.id)

    status = Ocw(bare_fleet)("status", "--json").json

    assert [(worker["pid"], worker["alive"]) for worker in status["workers"]] == [(killed.pid, False)]
    assert status["totals"]["workers"] == 0


def test_archives_started_by_another_host_are_reported(bare_fleet: Fleet) -> None:
    archives, keys = bare_fleet.stores.archives, bare_fleet.stores.keys
    about = '{"session_id": "sid-1", "agent_id": "main", "session_key": "agent:main:main"}'
    bare_fleet.stores.redis.hset(keys.archives, "sid-1", about)
    bare_fleet.stores.redis.rpush(keys.archive("sid-1"), "{}", "{}")
    there = Place("there", "far.example:/state")
    claimed = archives.claim("sid-1", there)
    assert claimed is not None
    assert archives.trim(claimed, 1, size=9, place=there) == 1
    assert archives.claim("sid-1", Place("here", "here:/state")) is None

    status, text = Ocw(bare_fleet)("status", "--json").json, Ocw(bare_fleet)("status").out

    assert status["waitingArchives"] == [{"place": "far.example:/state", "archives": 1}]
    assert "1 archive(s) wait for a worker at far.example:/state" in text
