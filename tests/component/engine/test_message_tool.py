"""The `message` tool: what goes into the outbox, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.transcript import ToolResultEntry
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text, tool_answers, use
from tests.support.programs import say

GROUP = SessionKey("agent:main:telegram:group:-100")
IN_GROUP = Route(channel="telegram", to="-100", account_id="default", thread_id="7")
TELEGRAM = {"channels": {"telegram": {"botToken": "1:a"}}}
ABLE = "threads,topics,edit,delete,react,buttons,files"


@pytest.fixture
def chat(make_engine: MakeEngine) -> EngineHarness:
    return make_engine(TELEGRAM)


def act(engine: EngineHarness, *, authority: Authority = Authority.OWNER, able: str = ABLE, **arguments: Any) -> str:
    """Have the session in the group use the tool; returns its result."""
    words = text(use("message", **arguments), say("done"))
    engine.say(words, GROUP, route=IN_GROUP, authority=authority, row={"lastCapabilities": able}, shown_as=words)
    engine.work()
    entries = [entry for entry in engine.log(GROUP) if isinstance(entry, ToolResultEntry)]
    return entries[-1].content[0].text


def queued(engine: EngineHarness) -> list[dict[str, Any]]:
    """Messages of the tool in the outbox; the turn's own answer left out."""
    found: Any = engine.stores.redis.xrange(engine.stores.keys.outgoing)
    messages = [json.loads(fields["message"]) for _, fields in found if "message" in fields]
    return [each for each in messages if each["kind"] == "message"]


def test_a_message_goes_to_the_sessions_own_chat(chat: EngineHarness) -> None:
    answer = json.loads(act(chat, text="**hi**", buttons=[[{"text": "Yes", "data": "yes"}]]))

    (message,) = queued(chat)
    assert (answer["status"], answer["id"]) == ("queued", message["id"])
    assert message["route"] == IN_GROUP.model_dump()
    assert (message["action"], message["text"]) == ("send", "**hi**")
    assert message["buttons"][0][0]["data"] == "yes"


def test_files_of_the_workspace_are_sent_along_and_no_others(chat: EngineHarness, tmp_path: Path) -> None:
    workspace = chat.built.agents.workspace("main")
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "chart.csv").write_text("a,b\n")
    (tmp_path / "outside.txt").write_text("secret")

    act(chat, text="see", files=["chart.csv"])
    refused = act(chat, text="see", files=[str(tmp_path / "outside.txt")])

    (message,) = queued(chat)
    assert [(file["name"], file["size"]) for file in message["files"]] == [("chart.csv", 4)]
    assert "outside the workspace" in refused


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({"action": "reply", "messageId": "5", "text": "x"}, {"action": "send", "replyTo": "5"}),
        ({"action": "edit", "messageId": "5", "text": "x"}, {"action": "edit", "targetId": "5"}),
        ({"action": "delete", "messageId": "5"}, {"action": "delete", "targetId": "5"}),
        ({"action": "react", "messageId": "5", "emoji": "👍"}, {"action": "react", "emoji": "👍"}),
        ({"action": "topic-create", "name": "News"}, {"action": "topic", "title": "News"}),
    ],
)
def test_each_action_reaches_the_outbox(chat: EngineHarness, arguments: dict[str, Any], fields: dict[str, str]) -> None:
    act(chat, **arguments)

    (message,) = queued(chat)
    assert {name: message[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("arguments", "lacks"),
    [
        ({"action": "react", "messageId": "5", "emoji": "x"}, "react"),
        ({"action": "topic-create", "name": "x"}, "topics"),
        ({"text": "x", "buttons": [[{"text": "a", "data": "b"}]]}, "buttons"),
    ],
)
def test_what_the_channel_cannot_do_is_refused(chat: EngineHarness, arguments: dict[str, Any], lacks: str) -> None:
    assert f"it lacks {lacks}" in act(chat, able="threads", **arguments)
    assert queued(chat) == []


def test_only_an_owners_turn_writes_to_other_chats(chat: EngineHarness) -> None:
    assert "its own chat" in act(chat, authority=Authority.AUTHORIZED, to="42", text="x")
    assert json.loads(act(chat, authority=Authority.AUTHORIZED, to="-100", text="x"))["status"] == "queued"
    assert json.loads(act(chat, to="42", text="x"))["to"] == "42"
    assert "no channel 'pigeon'" in act(chat, channel="pigeon", to="42", text="x")


def test_the_send_policy_holds(make_engine: MakeEngine) -> None:
    rules = {"rules": [{"action": "deny", "match": {"channel": "telegram"}}]}
    engine = make_engine({**TELEGRAM, "session": {"sendPolicy": rules}})

    assert "send policy" in act(engine, text="x")
    assert queued(engine) == []


def test_a_session_without_a_chat_must_name_one(chat: EngineHarness) -> None:
    chat.say(text(use("message", text="x"), say("done")))
    chat.work()

    (result,) = [entry for entry in chat.log(SESSION) if isinstance(entry, ToolResultEntry)]
    assert "has no chat" in result.content[0].text


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": " "},
        {"action": "edit", "text": "x"},
        {"action": "react", "emoji": "x"},
        {"text": "x", "buttons": [[{"text": "OK", "data": "/approve q-1 always"}]]},
    ],
)
def test_a_call_that_makes_no_sense_or_hides_a_command_in_a_button_is_refused(
    chat: EngineHarness, arguments: dict[str, Any]
) -> None:
    assert "wrong arguments" in act(chat, **arguments)


def test_agents_that_may_be_spawned_are_listed(make_engine: MakeEngine) -> None:
    helpers = [{"id": "main", "subagents": {"allowAgents": ["work"]}}, {"id": "work", "name": "Worker"}, {"id": "x"}]
    engine = make_engine({"agents": {"list": helpers}})
    engine.say(text(use("agents_list"), say("done")))
    engine.work()

    (answer,) = tool_answers(engine)
    assert answer == {
        "status": "ok",
        "requester": "main",
        "allowAny": False,
        "agents": [
            {"id": "main", "name": "main", "configured": True},
            {"id": "work", "name": "Worker", "configured": True},
        ],
    }
