"""`ocw doctor`: what is wrong with an installation, and the command that fixes it."""

from __future__ import annotations

import socket

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw
from tests.support.waiting import eventually


def test_the_model_is_asked_and_lanes_without_a_worker_are_errors(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    done = ocw_cli("doctor", "--json", within=120)
    found = done.json["findings"]
    assert (done.code, done.json["ok"]) == (1, False), found
    assert {each["check"] for each in found if each["state"] == "error"} == {"lanes"}
    assert {"check": "models", "state": "ok", "message": "offline/script answers", "fix": ""} in found
    assert live_fleet.stores.reader.session(session_key("doctor")) is None, "the session of the call is deleted"
    assert "answers" in ocw_cli("doctor", within=120).out


def test_a_redis_that_does_not_answer_is_the_one_finding(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    done = ocw_cli("doctor", "--json", env={"REDIS_URL": "redis://127.0.0.1:1/0"})
    (found,) = done.json["findings"]
    assert (done.code, found["check"], found["state"]) == (1, "redis", "error")
    assert "REDIS_URL" in found["fix"]


def test_no_model_is_asked_where_no_worker_takes_turns(bare_fleet: Fleet) -> None:
    ocw = Ocw(bare_fleet)
    bare_fleet.worker()
    assert ocw("drain", socket.gethostname()).code == 0
    eventually(lambda: all(each["draining"] for each in ocw("status", "--json").json["workers"]), within=10)

    found = ocw("doctor", "--json").json["findings"]

    assert "models" not in {each["check"] for each in found}
    assert f"ocw undrain {socket.gethostname()}" in {each["fix"] for each in found}
