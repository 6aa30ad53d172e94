"""The official OpenAI client against a real ingress and real workers."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from openclaw_workers.domain.session_key import parse_key
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.domain.transcript import UserEntry
from tests.support.fleet import Fleet
from tests.support.ingress import Ingress, new_token, start_ingress
from tests.support.ocw import Gate
from tests.support.programs import as_text, call, execute, program, say, spawn
from tests.support.waiting import eventually

TITLE = "### Task:\nGenerate a title.\n### Output:\n{}\n<chat_history>\nUSER: hi\n</chat_history>\n"


def make_client(ingress: Ingress, token: str) -> openai.OpenAI:
    return openai.OpenAI(api_key=token, base_url=f"{ingress.url}/v1", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def client(fleet: Fleet, ingress: Ingress) -> openai.OpenAI:
    return make_client(ingress, new_token(fleet, Scope.CHAT))


@pytest.fixture(scope="module")
def owner(fleet: Fleet, ingress: Ingress) -> openai.OpenAI:
    """Whose turns have every tool."""
    return make_client(ingress, new_token(fleet, Scope.ADMIN))


def ask(client: openai.OpenAI, *messages: Any, **more: Any) -> Any:
    said = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
    return client.chat.completions.create(**{"model": "openclaw", "messages": said, **more})


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def sessions(fleet: Fleet) -> dict[str, Any]:
    return {row.session_key: row for row in fleet.stores.reader.each_session()}


def test_models_are_the_agents(client: openai.OpenAI, fleet: Fleet, ingress: Ingress) -> None:
    assert [model.id for model in client.models.list()] == [
        "openclaw",
        "openclaw/default",
        "openclaw/main",
        "openclaw/work",
    ]
    assert client.models.retrieve("openclaw/work").id == "openclaw/work"
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("gpt-4o")
    assert missing.value.code == "model_not_found"
    bound = make_client(ingress, new_token(fleet, Scope.CHAT, agent="work"))
    assert [model.id for model in bound.models.list()] == ["openclaw", "openclaw/default", "openclaw/work"]


def test_a_completion_has_text_usage_and_reason(client: openai.OpenAI) -> None:
    done = ask(client, as_text(program(say("Hello there."))))

    assert done.object == "chat.completion"
    assert done.model == "openclaw"
    assert done.choices[0].message.content == "Hello there."
    assert done.choices[0].finish_reason == "stop"
    assert done.usage.prompt_tokens > 0
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


def test_a_stream_gives_the_text_in_pieces_and_the_usage_last(client: openai.OpenAI) -> None:
    step = {"text": "one two three four", "chunks": 4, "chunkDelayMs": 150}
    chunks = list(ask(client, as_text(program(step)), stream=True, stream_options={"include_usage": True}))

    assert chunks[0].choices[0].delta.role == "assistant"
    assert text_of(chunks) == "one two three four"
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_streaming_helper_of_the_client_works_too(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": as_text(program(say("in the end")))}]
    with client.chat.completions.stream(model="openclaw", messages=messages) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "in the end"


def test_text_before_a_tool_call_is_streamed_apart_and_not_part_of_a_whole_answer(owner: openai.OpenAI) -> None:
    steps = program(call(execute("true"), text="Looking."), say("Found."))
    assert text_of(list(ask(owner, as_text(steps), stream=True))) == "Looking.\n\nFound."
    assert ask(owner, as_text(steps)).choices[0].message.content == "Found."


def test_without_a_session_the_earlier_messages_are_the_transcript(client: openai.OpenAI, fleet: Fleet) -> None:
    before = sessions(fleet).keys()
    ask(
        client,
        {"role": "system", "content": "be brief"},
        "my name is Ada",
        {"role": "assistant", "content": "hello Ada"},
        as_text(program(say("ok"))),
    )

    (new,) = sessions(fleet).keys() - before
    entries = fleet.transcript(new)
    assert [entry.role for entry in entries] == ["user", "assistant", "user", "assistant"]
    assert parse_key(new).path[0] == "openai"
    assert sessions(fleet)[new].transient
    assert fleet.stores.redis.zscore(fleet.stores.keys.due, f"cleanup|{new}") is not None


def test_a_system_message_is_part_of_the_prompt_for_an_owner_and_of_the_message_for_others(
    client: openai.OpenAI, owner: openai.OpenAI, fleet: Fleet
) -> None:
    message = as_text(program(say("ok")))
    for asking, user in ((owner, "its-owner"), (client, "its-guest")):
        ask(asking, {"role": "system", "content": "be brief"}, message, user=user)
    texts = [fleet.transcript(f"agent:main:openai:dm:{user}")[0] for user in ("its-owner", "its-guest")]
    assert [entry.content[0].text for entry in texts if isinstance(entry, UserEntry)] == [
        message,
        f"be brief\n\n{message}",
    ]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"user": "Ada L."}, "agent:main:openai:dm:Ada%20L."),
        ({"extra_headers": {"X-OpenWebUI-Chat-Id": "c-1"}}, "agent:main:openwebui:dm:c-1"),
        ({"extra_headers": {"x-openclaw-session-key": "notes"}}, "agent:main:notes"),
        ({"extra_headers": {"x-openclaw-session-key": "agent:work:notes"}}, "agent:work:notes"),
        (
            {"extra_headers": {"x-openclaw-session-key": "notes"}, "model": "openclaw/work", "user": "x"},
            "agent:work:notes",
        ),
    ],
)
def test_with_a_session_only_the_last_message_counts(
    client: openai.OpenAI, fleet: Fleet, more: dict[str, Any], key: str
) -> None:
    before = len(fleet.transcript(key))
    done = ask(client, "earlier", {"role": "assistant", "content": "x"}, as_text(program(say("ok"))), **more)

    assert done.choices[0].message.content == "ok"
    entries = fleet.transcript(key)[before:]
    assert [entry.role for entry in entries] == ["user", "assistant"]


def test_requests_that_a_front_end_makes_on_its_own_stay_out_of_the_session(
    client: openai.OpenAI, fleet: Fleet
) -> None:
    chat = {"X-OpenWebUI-Chat-Id": "titled"}
    ask(client, as_text(program(say("hi"))), extra_headers=chat)
    before = sessions(fleet)

    done = ask(client, TITLE + as_text(program(say("A title"))), extra_headers=chat)

    assert done.choices[0].message.content == "A title"
    assert len(fleet.transcript("agent:main:openwebui:dm:titled")) == 2
    (own,) = sessions(fleet).keys() - before.keys()
    assert sessions(fleet)[own].transient


@pytest.mark.parametrize("key", ["subagent:1", "agent:main:subagent:1", "cron:daily", "agent:main:cron:daily"])
def test_sessions_of_sub_agents_and_schedules_are_refused(client: openai.OpenAI, key: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, "hi", extra_headers={"x-openclaw-session-key": key})
    assert refused.value.code == "session_key_refused"


def test_pictures_become_attachments(client: openai.OpenAI, fleet: Fleet) -> None:
    url = "data:image/png;base64,iVBORw0KGgo="
    content = [
        {"type": "text", "text": as_text(program(say("seen")))},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    ask(client, {"role": "user", "content": content}, user="picture")

    entry = fleet.transcript("agent:main:openai:dm:picture")[0]
    assert isinstance(entry, UserEntry)
    (file,) = entry.attachments
    assert (file.name, file.mime_type) == ("image-2.png", "image/png")
    assert (fleet.workspace / file.path).read_bytes() == b"\x89PNG\r\n\x1a\n"


def test_a_slash_command_is_answered_at_once(client: openai.OpenAI) -> None:
    assert "agent:main:openai:dm:commander" in ask(client, "/status", user="commander").choices[0].message.content
    assert "/status" in text_of(list(ask(client, "/help", user="commander", stream=True)))


def test_client_tools_are_refused_with_a_code(client: openai.OpenAI) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, "hi", tools=[tool])
    assert (refused.value.code, refused.value.param) == ("client_tools_unsupported", "tools")


def test_errors_have_the_classes_that_the_client_knows(client: openai.OpenAI, fleet: Fleet, ingress: Ingress) -> None:
    with pytest.raises(openai.AuthenticationError) as unknown:
        ask(make_client(ingress, "sk-wrong"), "hi")
    assert unknown.value.code == "invalid_api_key"
    with pytest.raises(openai.PermissionDeniedError):
        ask(make_client(ingress, new_token(fleet, Scope.READ)), "hi")
    bound = make_client(ingress, new_token(fleet, Scope.CHAT, agent="work"))
    with pytest.raises(openai.BadRequestError, match="belongs to agent main"):
        ask(bound, "hi", extra_headers={"x-openclaw-session-key": "agent:main:notes"})
    with pytest.raises(openai.NotFoundError) as missing:
        ask(client, "hi", model="openclaw/nobody")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        ask(client, "hi", extra_headers={"x-openclaw-wait": "for ever"})


def test_a_failed_turn_is_an_error_that_is_not_worth_a_retry(client: openai.OpenAI) -> None:
    broken = as_text({"steps": [{"fail": "billing"}] * 9})
    with pytest.raises(openai.InternalServerError) as failed:
        ask(client, broken)
    assert failed.value.code == "billing"
    assert failed.value.response.headers["x-should-retry"] == "false"


def test_a_failure_in_mid_stream_is_an_error_event_with_its_code(client: openai.OpenAI) -> None:
    steps = {"steps": [{"text": "It begins", "calls": [execute("true")]}, *[{"fail": "auth_permanent"}] * 9]}
    seen: list[ChatCompletionChunk] = []
    with pytest.raises(openai.APIError) as failed:
        seen.extend(ask(client, as_text(steps), stream=True))
    assert failed.value.code == "auth_permanent"


def test_a_repeat_with_the_same_key_gets_the_same_answer_and_makes_no_second_turn(
    client: openai.OpenAI, fleet: Fleet
) -> None:
    key = {"Idempotency-Key": "order-1"}
    before = len(fleet.runs())
    answers = [
        ask(client, "x", {"role": "assistant", "content": "y"}, as_text(program(say("once"))), extra_headers=key)
    ]
    answers += [ask(client, as_text(program(say("never"))), extra_headers=key)]
    answers[0].created = answers[1].created

    assert answers[0] == answers[1]
    assert len(fleet.runs()) == before + 1
    with pytest.raises(openai.BadRequestError):
        ask(client, "x", extra_headers={"Idempotency-Key": "x" * 257})


def test_the_replies_to_sub_agents_are_part_of_the_answer_if_the_client_waits_for_the_tree(
    client: openai.OpenAI,
) -> None:
    steps = program(spawn(program(say("child"))), say("Started."), say("Both are done."))
    tree = {"x-openclaw-wait": "tree"}
    assert text_of(list(ask(client, as_text(steps), stream=True, extra_headers=tree))) == "Started.\n\nBoth are done."
    assert ask(client, as_text(steps), extra_headers=tree).choices[0].message.content == "Started.\n\nBoth are done."


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_stateless_turn_stops_when_its_client_goes_away_and_another_goes_on(
    owner: openai.OpenAI, fleet: Fleet, is_stream: bool
) -> None:
    gate = Gate(fleet, f"gone-{is_stream}")
    steps = as_text(program(gate.step, say("late")))
    before = {run.id for run in fleet.runs()}
    for more in ({}, {"user": f"stays-{is_stream}"}):
        if is_stream:
            with ask(owner, steps, stream=True, **more) as stream:
                next(iter(stream))
        else:
            with pytest.raises(openai.APITimeoutError):
                ask(owner.with_options(timeout=1.0), steps, **more)

    def states() -> dict[bool, str]:
        return {":dm:" in run.session_key: run.state for run in fleet.runs() if run.id not in before}

    eventually(lambda: states().get(False) == "killed", within=20)
    assert states()[True] == "running"
    gate.open()
    eventually(lambda: states()[True] == "ok", within=20)


def test_a_worker_killed_in_mid_stream_changes_nothing_but_time(client: openai.OpenAI, fleet: Fleet) -> None:
    words = " ".join(f"w{number}" for number in range(30))
    step = {"text": words, "chunks": 30, "chunkDelayMs": 200}
    text = ""
    session = "agent:main:openai:dm:victim"
    for chunk in ask(client, as_text(program(step)), stream=True, user="victim"):
        if not text and chunk.choices and chunk.choices[0].delta.content:
            fleet.carrier(session).kill()
            fleet.worker()
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""

    assert text == words
    (run,) = [run for run in fleet.runs() if run.session_key == session]
    assert len(run.attempts) == 2


def test_the_raw_stream_ends_with_done(fleet: Fleet, ingress: Ingress) -> None:
    body = {"model": "openclaw", "stream": True, "messages": [{"role": "user", "content": as_text(program(say("hi")))}]}
    headers = {"Authorization": f"Bearer {new_token(fleet, Scope.CHAT)}"}
    with httpx2.stream(
        "POST", f"{ingress.url}/v1/chat/completions", json=body, headers=headers, timeout=60
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-openclaw-session-key"].startswith("agent:main:openai:")
        lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line.removeprefix("data: ")) for line in lines[:-1])


def test_an_ingress_that_stops_tells_its_clients_and_the_session_keeps_the_answer(
    owner: openai.OpenAI, fleet: Fleet
) -> None:
    leaving = start_ingress(fleet)
    client = owner.with_options(base_url=f"{leaving.url}/v1")
    gate = Gate(fleet, "leaving")
    stream = iter(ask(client, as_text(program(gate.step, say("later"))), stream=True, user="leaving"))
    next(stream)
    fleet.carrier("agent:main:openai:dm:leaving")

    leaving.process.term()

    with pytest.raises(openai.APIError) as reported:
        list(stream)
    assert reported.value.code == "ingress_stopping"
    assert leaving.process.wait(10) == 0
    gate.open()
    eventually(lambda: len(fleet.transcript("agent:main:openai:dm:leaving")) == 4, within=20)
