"""`Client` and `AsyncClient`, over HTTP and over Redis, against real workers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers import AsyncClient, Client
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.errors import AccessDenied, BadInput, ConflictError, NotFound, StoreUnavailable
from openclaw_workers.sdk.results import Answer
from tests.support.fleet import Fleet
from tests.support.ingress import Ingress, new_token, start_ingress
from tests.support.ocw import Gate
from tests.support.programs import as_text, program, say, spawn
from tests.support.waiting import eventually

WAYS = ("http", "redis")


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def client(way: str, fleet: Fleet, ingress: Ingress) -> Iterator[Client]:
    with open_client(way, fleet, ingress) as client:
        yield client


def open_client(way: str, fleet: Fleet, ingress: Ingress) -> Client:
    if way == "http":
        return Client(ingress.url, token=new_token(fleet))
    return Client(fleet.redis_server.url, config=fleet.config_path, state_dir=fleet.state_dir)


def test_a_message_is_sent_and_answered(client: Client, way: str) -> None:
    answer = client.send(as_text(program(say("Hello."))), session=f"{way}-send")

    assert (answer.ok, answer.status, answer.text, answer.reply) == (True, "ok", "Hello.", "Hello.")
    assert answer.session_key == f"agent:main:{way}-send"
    assert answer.usage is not None
    assert answer.usage.total > 0
    assert answer.run_id is not None
    assert client.run(answer.run_id).text == "Hello."


def test_a_stream_gives_events_and_then_the_answer(client: Client, way: str) -> None:
    step = {"text": "one two three", "chunks": 3, "chunkDelayMs": 150}
    with client.stream(as_text(program(step)), session=f"{way}-stream") as stream:
        events = list(stream)

    assert "one two three".startswith("".join(event.text for event in events if event.type == "text.delta"))
    assert (events[0].type, events[-1].type, events[-1].text) == ("run.started", "answer", "one two three")
    assert {event.session_key for event in events} == {f"agent:main:{way}-stream"}
    assert stream.answer is not None
    assert stream.answer.text == "one two three"


def test_a_stream_gives_the_text_alone_with_every_turn_of_the_tree(client: Client, way: str) -> None:
    steps = program(spawn(program(say("done"))), say("Started."), say("Both are done."))
    with client.stream(as_text(steps), session=f"{way}-text", with_tree=True) as stream:
        assert "".join(stream.text()) == "Started.\n\nBoth are done."
        assert stream.answer is not None
        assert stream.answer.settled


def test_a_command_is_answered_at_once(client: Client, way: str) -> None:
    answer = client.send("/status", session=f"{way}-command")
    assert answer.status == "command"
    assert f"agent:main:{way}-command" in str(answer.text)


def test_it_waits_for_the_tree_of_sub_agents(client: Client, way: str) -> None:
    steps = program(spawn(program(say("done")), label="helper"), say("Started."), say("Both are done."))
    answer = client.send(as_text(steps), session=f"{way}-tree", wait="tree", timeout=60)

    assert answer.text == "Started."
    assert answer.settled
    assert [reply.text for reply in answer.replies] == ["Both are done."]
    assert [(child.label, child.outcome) for child in answer.subagents] == [("helper", "ok")]
    (tree,) = client.tree(answer.run_id)
    assert [(child.label, child.kind) for child in tree.children] == [("helper", "subagent"), (None, "reply")]
    assert answer.run_id in [each.run_id for each in client.tree(limit=10)]


def test_it_stops_waiting_and_the_run_goes_on_until_it_is_stopped(client: Client, way: str, fleet: Fleet) -> None:
    gate = Gate(fleet, f"{way}-stop")
    answer = client.send(as_text(program(gate.step, say("late"))), session=f"{way}-stop", timeout=1.5)

    assert (answer.ok, answer.status) == (False, "running")
    assert answer.error is not None
    assert answer.error.type == "WaitOver"
    assert answer.run_id is not None
    assert client.stop(answer.run_id).run_id == answer.run_id
    eventually(lambda: fleet.run(answer.run_id).state == "killed", within=20)  # type: ignore[arg-type]
    with pytest.raises(ConflictError):
        client.stop(answer.run_id)


def test_a_running_turn_is_steered(client: Client, way: str, fleet: Fleet) -> None:
    gate = Gate(fleet, f"{way}-steer")
    sent = client.send(as_text(program(gate.step, say("noted"))), session=f"{way}-steer", wait="none")
    assert sent.status == "accepted"
    assert sent.run_id is not None
    eventually(lambda: fleet.run(sent.run_id).state == "running", within=20)  # type: ignore[arg-type]

    client.steer(sent.run_id, "and hurry")
    gate.open()

    eventually(lambda: fleet.run(sent.run_id).state.is_final, within=20)  # type: ignore[arg-type]
    assert "and hurry" in [entry.text for entry in client.history(f"{way}-steer") if entry.role == "user"]
    with pytest.raises(ConflictError):
        client.steer(sent.run_id, "too late")


def test_sessions_runs_and_history_are_read(client: Client, way: str) -> None:
    key = f"agent:main:{way}-read"
    for text in ("a", "b", "c"):
        client.send(as_text(program(say(text))), session=key)

    assert key in [session.session_key for session in client.sessions(agent="main", limit=500)]
    assert client.session(key).turns == 3
    assert [run.text for run in client.runs(session=key, state="ok")] == ["c", "b", "a"]
    assert [entry.text for entry in client.history(key, limit=3) if entry.role == "assistant"] == ["b", "c"]
    assert len(client.history(key)) == 6


def test_a_repeat_with_the_same_key_is_the_same_message(client: Client, way: str) -> None:
    answers = [
        client.send(as_text(program(say(text))), session=f"{way}-once", idempotency_key=f"{way}-k")
        for text in ("first", "second")
    ]
    assert [answer.text for answer in answers] == ["first", "first"]


def test_files_are_attached(client: Client, way: str, fleet: Fleet, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("hello")
    client.send(as_text(program(say("read"))), session=f"{way}-file", files=[note])

    assert "note.txt" in json.dumps(fleet.transcript(f"{way}-file")[0].model_dump(mode="json"))
    with pytest.raises(BadInput):
        client.send("x", session=f"{way}-file", files=[tmp_path / "missing"])


def test_errors_are_those_of_the_engine(client: Client) -> None:
    for ask in (client.run, client.session, client.history, client.tree, client.stop):
        with pytest.raises(NotFound):
            ask("run-0000000000000000")
    with pytest.raises(BadInput):
        client.send("")
    with pytest.raises(BadInput):
        client.send("x", model="no/model")


def test_a_session_that_rejects_a_message_says_so(client: Client, way: str, fleet: Fleet) -> None:
    gate = Gate(fleet, f"{way}-busy")
    client.send(as_text(program(gate.step, say("ok"))), session=f"{way}-busy", wait="none")
    answer = client.send("now", session=f"{way}-busy", mode="reject")
    gate.open()
    assert (answer.ok, answer.status) == (False, "rejected")
    assert answer.error is not None
    assert "busy" in answer.error.message


def test_a_failed_turn_is_an_answer_with_an_error(client: Client, way: str) -> None:
    answer = client.send(as_text({"steps": [{"fail": "billing"}] * 9}), session=f"{way}-fail")
    assert (answer.ok, answer.status, answer.reason) == (False, "error", "billing")
    assert answer.error is not None
    assert answer.error.type == "RunFailed"


@pytest.mark.parametrize("over", WAYS)
def test_many_conversations_at_once_on_asyncio(over: str, fleet: Fleet, ingress: Ingress) -> None:
    async def talk(client: AsyncClient, number: int) -> Answer:
        async with client.stream(as_text(program(say(f"answer {number}"))), session=f"{over}-many-{number}") as stream:
            return await stream.result()

    async def main() -> list[Answer]:
        async with open_async(over, fleet, ingress) as client:
            return list(await asyncio.gather(*(talk(client, number) for number in range(10))))

    assert [answer.text for answer in asyncio.run(main())] == [f"answer {number}" for number in range(10)]


def open_async(way: str, fleet: Fleet, ingress: Ingress) -> AsyncClient:
    if way == "http":
        return AsyncClient(ingress.url, token=new_token(fleet))
    return AsyncClient(fleet.redis_server.url, config=fleet.config_path, state_dir=fleet.state_dir)


def test_tokens_are_checked(fleet: Fleet, ingress: Ingress) -> None:
    with Client(ingress.url, token="wrong") as client, pytest.raises(AccessDenied):
        client.sessions()
    with Client(ingress.url, token=new_token(fleet, Scope.READ)) as client:
        client.sessions()
        with pytest.raises(AccessDenied):
            client.send("hello")


def test_nobody_answers(fleet: Fleet) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(StoreUnavailable):
        client.sessions()
    with Client("redis://127.0.0.1:1", state_dir=fleet.state_dir) as client, pytest.raises(StoreUnavailable):
        client.sessions()
    with pytest.raises(BadInput):
        Client("ftp://example.com")


def test_a_stream_goes_on_when_the_ingress_is_restarted(fleet: Fleet) -> None:
    first = start_ingress(fleet)
    gate = Gate(fleet, "restart")
    port = str(first.address[1])
    with Client(first.url, token=new_token(fleet)) as client:
        stream = client.stream(as_text(program(gate.step, say("still here"))), session="restart")
        assert next(stream).type == "run.started"
        first.process.kill()
        first.process.wait()
        gate.open()
        start_ingress(fleet, "--port", port)
        assert stream.result().text == "still here"


@pytest.mark.parametrize("name", ["Client", "AsyncClient"])
def test_importing_a_client_loads_neither_celery_nor_a_model_sdk(name: str) -> None:
    code = f"from openclaw_workers import {name}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {module.partition(".")[0] for module in json.loads(done.stdout)}
    assert not loaded & {"celery", "kombu", "anthropic", "openai", "starlette", "click"}


def test_using_a_client_on_redis_loads_no_celery_either(fleet: Fleet) -> None:
    code = f"""
import sys
from openclaw_workers import Client
config, state = {str(fleet.config_path)!r}, {str(fleet.state_dir)!r}
with Client({fleet.redis_server.url!r}, config=config, state_dir=state) as client:
    print(client.send('{{"steps": [{{"text": "ok"}}]}}', session="light").text)
print(not {{"celery", "kombu", "anthropic", "openai"}} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ok", "True"]
