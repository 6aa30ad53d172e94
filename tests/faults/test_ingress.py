"""An ingress that is killed, or whose Redis is away, loses no accepted message and doubles none."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx2

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.domain.transcript import UserEntry
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token, start_ingress
from tests.support.ocw import Gate
from tests.support.programs import as_text, program, say
from tests.support.waiting import eventually


def asked(fleet: Fleet, session: str) -> list[str]:
    """What people said in a session that was answered, in order."""
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, UserEntry)]
    return ["".join(block.text for block in entry.content) for entry in entries]


def repeated(url: str, token: str, body: dict[str, Any]) -> Any:
    """Send until an answer comes, as a client with an idempotency key does."""

    def send() -> Any:
        try:
            answer = Api(url, token).http.post("/api/v1/send", json=body)
        except httpx2.TransportError:
            return None
        return answer.json() if answer.status_code < 300 else None

    return eventually(send, within=60)


class Sent(threading.Thread):
    """One request that may be cut off."""

    def __init__(self, ingress: Ingress, token: str, body: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self._call = (ingress.url, token, body)
        self.was_cut_off = False
        self.start()

    def run(self) -> None:
        url, token, body = self._call
        try:
            Api(url, token).http.post("/api/v1/send", json=body)
        except httpx2.TransportError:
            self.was_cut_off = True


def test_a_client_cut_off_before_the_answer_gets_it_from_another_ingress(fleet: Fleet) -> None:
    fleet.worker()
    first, second, token = start_ingress(fleet), start_ingress(fleet), new_token(fleet)
    gate = Gate(fleet, "cut-off")
    text = as_text(program(gate.step, say("at last")))
    body = {"text": text, "sessionKey": "cut-off", "idempotencyKey": "one", "wait": "reply"}

    sent = Sent(first, token, body)
    eventually(fleet.stores.reader.running, within=30)
    first.process.kill()
    sent.join(30)
    assert sent.was_cut_off
    gate.open()
    answer = repeated(second.url, token, body)

    assert answer["reply"] == "at last"
    assert asked(fleet, "cut-off") == [text]
    assert len(fleet.runs()) == 1


def test_an_ingress_killed_at_any_moment_of_an_accept_loses_and_doubles_nothing(fleet: Fleet) -> None:
    fleet.worker()
    token = new_token(fleet, Scope.CHAT)
    moments = (0, 0.003, 0.006, 0.01, 0.02, 0.05, 0.1, 0.2)
    texts = [as_text(program(say(f"message {number}", delay_ms=300))) for number in range(len(moments))]
    for moment, text in zip(moments, texts, strict=True):
        ingress = start_ingress(fleet)
        body = {"text": text, "sessionKey": "killed", "idempotencyKey": text, "wait": "reply"}
        Api(ingress.url, token).get("/me")  # it has imported and connected what a request needs
        sent = Sent(ingress, token, body)
        time.sleep(moment)  # before, in or after the accept, and always before the answer
        ingress.process.kill()
        sent.join(30)
        other = start_ingress(fleet)
        repeated(other.url, token, body)
        other.process.kill()

    assert asked(fleet, "killed") == texts
    assert len(fleet.runs()) == len(texts)


def test_a_frozen_redis_is_reported_in_time_and_a_repeat_makes_one_turn(fleet: Fleet) -> None:
    fleet.worker()
    ingress, token = start_ingress(fleet), new_token(fleet, Scope.CHAT)
    client = Api(ingress.url, token)
    client.get("/me")
    body = {"text": "frozen", "sessionKey": "frozen", "idempotencyKey": "frozen"}
    fleet.redis_server.stop()
    try:
        began = time.monotonic()
        answer = client.http.post("/api/v1/send", json=body)
        assert time.monotonic() - began < 30
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert client.status("GET", "/healthz") == 200
    finally:
        fleet.redis_server.cont()
    repeated(ingress.url, token, {**body, "wait": "reply"})

    assert asked(fleet, "frozen") == ["frozen"]


def test_messages_are_accepted_while_no_worker_lives_and_answered_later(fleet: Fleet) -> None:
    ingress, token = start_ingress(fleet), new_token(fleet, Scope.CHAT)
    client = Api(ingress.url, token)
    sent = [client.send(f"early {number}", sessionKey=f"early-{number}") for number in range(3)]
    assert all(each["accepted"] for each in sent)
    assert client.status("GET", "/readyz") == 503

    fleet.worker()

    runs = [each["runId"] for each in sent]
    eventually(lambda: {client.get(f"/runs/{run}")["state"] for run in runs} == {"ok"}, within=30)


def test_a_killed_redis_keeps_what_was_accepted(fleet: Fleet) -> None:
    ingress, token = start_ingress(fleet), new_token(fleet, Scope.CHAT)
    client = Api(ingress.url, token)
    accepted = client.send("kept", sessionKey="kept", idempotencyKey="kept")
    fleet.redis_server.restart()
    again = repeated(ingress.url, token, {"text": "kept", "sessionKey": "kept", "idempotencyKey": "kept"})

    assert (again["duplicate"], again["messageId"]) == (True, accepted["messageId"])
    fleet.worker()
    eventually(lambda: asked(fleet, "kept") == ["kept"], within=30)
