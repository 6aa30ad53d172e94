"""Messages over HTTP: each is stored once, and answered at once, later, or as events."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.domain.transcript import UserEntry
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token, start_ingress
from tests.support.ocw import Gate
from tests.support.programs import as_text, program, say, spawn
from tests.support.waiting import eventually


def asked(fleet: Fleet, session: str) -> list[str]:
    """What people said in a session."""
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, UserEntry)]
    return ["".join(block.text for block in entry.content) for entry in entries if entry.provenance is None]


def test_a_message_is_accepted_and_answered_later(fleet: Fleet, chat: Api) -> None:
    answer = chat.http.post("/api/v1/send", json={"message": "hello", "session": "later"})
    accepted = answer.json()

    assert answer.status_code == 202
    assert accepted["sessionKey"] == "agent:main:later"
    run = eventually(lambda: chat.get(f"/runs/{accepted['runId']}"), within=10)
    eventually(lambda: chat.get(f"/runs/{run['runId']}")["state"] == "ok", within=20)
    assert accepted["messageId"] in chat.get(f"/runs/{run['runId']}")["covers"]


def test_waiting_returns_the_answer(chat: Api) -> None:
    answer = chat.send(as_text(program(say("42"))), sessionKey="wait", wait="reply")
    assert (answer["ok"], answer["status"]) == (True, "ok")
    assert [answer[name] for name in ("text", "reply", "response")] == ["42"] * 3


def test_waiting_for_the_tree_returns_the_later_replies(chat: Api) -> None:
    job = program(spawn(program(say("found it")), label="search"), say("spawned"), say("it was found"))
    answer = chat.send(as_text(job), sessionKey="wait-tree", wait="tree")
    texts = [answer["text"], *(reply["text"] for reply in answer["replies"])]
    assert answer["settled"]
    assert texts[-1] == "it was found"
    assert [each["outcome"] for each in answer["subagents"]] == ["ok"]


def test_when_the_time_is_up_the_run_continues(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "patience")
    body = {"text": as_text(program(gate.step, say("late"))), "sessionKey": "patience", "wait": "reply"}
    answer = api.http.post("/api/v1/send", json={**body, "timeoutSeconds": 0.5})
    gate.open()

    assert answer.status_code == 202
    assert answer.json()["error"]["type"] == "WaitOver"
    run = answer.json()["runId"]
    eventually(lambda: api.get(f"/runs/{run}")["text"] == "late", within=20)


def test_a_failed_run_is_an_answer_too(chat: Api) -> None:
    answer = chat.send(json.dumps({"steps": [{"fail": "format"}] * 9}), sessionKey="fail", wait="reply")
    assert not answer["ok"]
    assert answer["error"]["type"] == "RunFailed"


def test_events_come_as_they_happen_and_end_with_the_answer(chat: Api) -> None:
    body = {"text": as_text(program(say("streamed"))), "sessionKey": "stream"}
    with chat.stream("POST", "/send", json=body) as events:
        found = list(events)

    kinds = [kind for _, kind, _ in found]
    assert kinds[0] == "accepted"
    assert kinds[-1] == "answer"
    assert {"run.started", "run.ended"} <= set(kinds)
    assert found[-1][2]["text"] == "streamed"
    ids = [ident for ident, kind, _ in found if kind not in ("accepted", "answer")]
    assert all(ids)
    assert sorted(ids) == ids


def test_a_command_is_answered_at_once(api: Api, chat: Api) -> None:
    chat.send("hello", sessionKey="commands", wait="reply")
    answer = chat.send("/status", sessionKey="commands")
    assert answer["status"] == "command"
    assert "agent:main:commands" in answer["text"]
    with chat.stream("POST", "/send", json={"text": "/status", "sessionKey": "commands"}) as events:
        assert [kind for _, kind, _ in events] == ["answer"]
    assert "Queue set" in api.send("/queue collect", sessionKey="commands")["text"]
    assert chat.error("POST", "/api/v1/send", json={"text": "/queue collect", "sessionKey": "commands"})[0] == 400


@pytest.mark.parametrize("how", ["body", "header"])
def test_a_repeat_under_the_same_key_makes_no_second_turn(fleet: Fleet, chat: Api, how: str) -> None:
    body: dict[str, Any] = {"text": "once", "sessionKey": f"once-{how}"}
    headers = {"Idempotency-Key": "k-7"} if how == "header" else {}
    body |= {"idempotencyKey": "k-8"} if how == "body" else {}
    first = chat.post("/send", body, **headers)
    again = chat.post("/send", {**body, "wait": "reply"}, **headers)
    elsewhere = chat.post("/send", {**body, "sessionKey": "other"}, **headers)

    assert (first["duplicate"], elsewhere["duplicate"]) == (False, True)
    assert elsewhere["sessionKey"] == first["sessionKey"]
    assert again["runId"] == first["runId"]
    assert asked(fleet, f"once-{how}") == ["once"]
    assert fleet.stores.reader.session(elsewhere["sessionKey"].replace(f"once-{how}", "other")) is None


def test_another_token_has_keys_of_its_own(fleet: Fleet, ingress: Ingress, chat: Api) -> None:
    other = Api(ingress.url, new_token(fleet, Scope.CHAT))
    first = chat.send("mine", sessionKey="keys", idempotencyKey="same", wait="reply")
    second = other.send("yours", sessionKey="keys", idempotencyKey="same", wait="reply")
    assert first["runId"] != second["runId"]
    assert asked(fleet, "keys") == ["mine", "yours"]


def test_a_command_is_carried_out_once_under_its_key(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "stop-once")
    api.send("hello", sessionKey="stop-once", wait="reply")
    first = api.send("/stop", sessionKey="stop-once", idempotencyKey="halt")
    running = api.send(as_text(program(gate.step, say("went on"))), sessionKey="stop-once")
    again = api.send("/stop", sessionKey="stop-once", idempotencyKey="halt")
    gate.open()

    assert again["text"] == first["text"] == "Nothing is running."
    eventually(lambda: api.get(f"/runs/{running['runId']}")["text"] == "went on", within=20)


def test_two_processes_and_one_key_make_one_turn(fleet: Fleet, ingress: Ingress) -> None:
    token, second = new_token(fleet, Scope.CHAT), start_ingress(fleet)
    clients = [Api(each.url, token) for each in (ingress, second)] * 4

    def send(client: Api) -> Any:
        return client.send("together", sessionKey="two", idempotencyKey="one", wait="reply")

    with ThreadPoolExecutor(len(clients)) as pool:
        answers = list(pool.map(send, clients))
    second.process.term()

    assert len({answer["runId"] for answer in answers}) == 1
    assert asked(fleet, "two") == ["together"]
    assert second.process.wait() == 0


def test_a_file_reaches_the_workspace_of_the_agent(fleet: Fleet, chat: Api) -> None:
    data = base64.b64encode(b"a,b\n1,2\n").decode()
    files = [{"name": "../../etc/data.csv", "data": data}, {"name": "x", "mediaType": "image/png", "data": data}]
    chat.send("read it", sessionKey="files", attachments=files, wait="reply")

    (entry,) = [each for each in fleet.transcript("files") if isinstance(each, UserEntry)]
    paths = [attachment.path for attachment in entry.attachments]
    assert [attachment.name for attachment in entry.attachments] == ["data.csv", "x.png"]
    assert [(fleet.workspace / path).read_bytes() for path in paths] == [b"a,b\n1,2\n"] * 2
    assert all(path.startswith(".openclaw/inbox/") for path in paths)
    assert (
        chat.error("POST", "/api/v1/send", json={"text": "x", "attachments": [{"name": "a", "data": "%%"}]})[0] == 400
    )


def test_a_running_turn_is_steered_and_stopped(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "steer")
    sent = api.send(as_text(program(gate.step, gate.step, say("never"))), sessionKey="steer")
    eventually(lambda: fleet.run(sent["runId"]).state == "running", within=20)

    steered = api.post(f"/runs/{sent['runId']}/steer", {"text": "hurry up"})
    gate.open()
    eventually(lambda: fleet.events("steer", "run.steered"), within=20)
    assert steered["accepted"]
    eventually(lambda: api.get(f"/runs/{sent['runId']}")["state"] == "ok", within=20)
    assert api.error("POST", f"/api/v1/runs/{sent['runId']}/steer", json={"text": "x"}) == (409, "conflict_error")

    gate = Gate(fleet, "stop")
    sent = api.send(as_text(program(gate.step, say("never"))), sessionKey="steer")
    eventually(lambda: fleet.run(sent["runId"]).state == "running", within=20)
    stopped = api.post(f"/runs/{sent['runId']}/stop")
    assert stopped["runId"] == sent["runId"]
    eventually(lambda: api.get(f"/runs/{sent['runId']}")["state"] == "killed", within=20)
    assert api.error("POST", f"/api/v1/runs/{sent['runId']}/stop") == (409, "conflict_error")


def test_a_run_is_run_again(fleet: Fleet, chat: Api) -> None:
    first = chat.send(as_text(program(say("same"))), sessionKey="rerun", wait="reply")
    again = chat.post(f"/runs/{first['runId']}/rerun", {"idempotencyKey": "again"})
    twice = chat.post(f"/runs/{first['runId']}/rerun", {"idempotencyKey": "again"})

    assert twice["messageId"] == again["messageId"]
    assert again["runId"] != first["runId"]
    eventually(lambda: chat.get(f"/runs/{again['runId']}")["text"] == "same", within=20)
    assert len(asked(fleet, "rerun")) == 2


def test_a_subagent_is_spoken_to_and_stopped(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "subagent")
    job = program(spawn(program(gate.step, say("child done")), label="worker bee"), say("spawned"), say("heard"))
    api.send(as_text(job), sessionKey="subagents", wait="reply")
    (child,) = api.get("/subagents", sessionKey="subagents")["subagents"]
    eventually(lambda: fleet.run(child["runId"]).state == "running", within=20)

    assert api.post("/subagents/worker bee/send", {"text": "and then?"})["accepted"]
    assert api.post(f"/subagents/{child['runId']}/steer", {"text": "faster"})["accepted"]
    stopped = api.post(f"/subagents/{child['runId']}/stop")
    gate.open()

    assert list(stopped["runs"]) == [child["runId"]]
    eventually(lambda: _delivery(api, child["runId"])["state"] == "delivered", within=20)
    assert api.error("POST", f"/api/v1/subagents/{child['runId']}/retry")[0] == 409
    assert api.error("POST", f"/api/v1/subagents/{child['runId']}/stop")[0] == 409


def _delivery(api: Api, run_id: str) -> dict[str, Any]:
    return dict(api.get(f"/subagents/{run_id}")["delivery"])


def test_a_busy_session_rejects(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "reject")
    sent = api.send(as_text(program(gate.step, say("done"))), sessionKey="reject")
    eventually(lambda: fleet.run(sent["runId"]).state == "running", within=20)
    refused = api.error("POST", "/api/v1/send", json={"text": "now", "sessionKey": "reject", "mode": "reject"})
    gate.open()
    assert refused == (409, "busy")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": ""}, 400),
        ({"text": "   "}, 400),
        ({}, 422),
        ({"text": 7}, 422),
        ({"text": "x", "surprise": True}, 422),
        ({"text": "x", "agentId": "nobody"}, 404),
        ({"text": "x", "sessionKey": "agent:main:dm"}, 400),
        ({"text": "x", "sessionKey": "agent:nobody:main"}, 404),
        ({"text": "x", "model": "nobody/nothing"}, 400),
        ({"text": "x", "thinking": "a lot"}, 400),
        ({"text": "x", "mode": "loudly"}, 422),
        ({"text": "x", "wait": "forever"}, 422),
        ({"text": "x", "timeoutSeconds": -1}, 422),
        ({"text": "x", "threadId": "nowhere"}, 404),
        ({"text": "x", "system": "obey"}, 403),
        ({"text": "x" * 1_000_001}, 400),
    ],
)
def test_what_cannot_be_used_is_refused(chat: Api, body: dict[str, Any], status: int) -> None:
    assert chat.status("POST", "/api/v1/send", json=body) == status


def test_the_owner_adds_to_the_system_prompt(api: Api) -> None:
    assert api.send("hello", sessionKey="system", system="Be brief.", wait="reply")["ok"]


@pytest.mark.needs("curl")
def test_the_example_of_the_documentation_works(fleet: Fleet, ingress: Ingress) -> None:
    page = (Path(__file__).parents[3] / "docs" / "http.md").read_text()
    command = page[page.index("curl -s") :].partition("```")[0].replace("http://127.0.0.1:18789", ingress.url)
    environment = {"PATH": os.environ["PATH"], "TOKEN": new_token(fleet, Scope.CHAT)}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=60, check=True)
    answer = json.loads(done.stdout)
    assert (answer["ok"], answer["status"]) == (True, "ok")
