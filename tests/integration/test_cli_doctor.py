"""`ocw doctor`: what is wrong with an installation, and the command that fixes it."""

from __future__ import annotations

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw


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
