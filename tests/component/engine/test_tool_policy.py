"""The policy of a turn: what it has in the place where it runs, and what sub-agents inherit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, InboxEntry, Route
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.session_steps import run_on, text
from tests.component.engine.wire_harness import wire_engine
from tests.support.programs import program, say, spawn
from tests.support.wire import Called, Failure, Reply, WireServer

GROUP = SessionKey("agent:main:telegram:group:-100")
IN_GROUP = Route(channel="telegram", to="-100", account_id="default")
READERS = {"channels": {"telegram": {"groups": {"-100": {"tools": {"allow": ["read", "group:sessions"]}}}}}}


def tools_of(engine: EngineHarness, taken: Taken) -> set[str]:
    bound = [InboxEntry.model_validate_json(raw) for raw in taken.bound]
    return set(engine.built.preparer.prepare(taken, bound).setup.tools)


def test_a_group_and_the_sub_agents_it_spawned_have_the_groups_tools(make_engine: MakeEngine) -> None:
    engine = make_engine(READERS)
    child = program(say("done"))
    engine.say(text(spawn(child, label="c"), say("spawned"), say("heard")), GROUP, route=IN_GROUP)
    run_on(engine)
    (spawned,) = engine.stores.tree.children(GROUP)
    engine.say(text(say("hello")), spawned.session_key)
    engine.say(text(say("hello")), GROUP, route=IN_GROUP)

    assert "read" in tools_of(engine, engine.take(GROUP))
    left = tools_of(engine, engine.take(spawned.session_key))
    assert "read" in left
    assert left.isdisjoint({"exec", "write", "web_fetch"})
    assert engine.stores.reader.row(spawned.session_key)["toolGroup"] == "telegram|default|-100"


def test_a_sub_agent_never_has_more_authority_than_the_turn_that_spawned_it(make_engine: MakeEngine) -> None:
    engine = make_engine({})
    child = program(say("done"))
    engine.say(
        text(spawn(child, label="c"), say("spawned"), say("heard")),
        GROUP,
        route=IN_GROUP,
        authority=Authority.AUTHORIZED,
    )
    run_on(engine)
    (spawned,) = engine.stores.tree.children(GROUP)
    engine.say(text(say("hello")), spawned.session_key, authority=Authority.OWNER)

    assert engine.stores.reader.row(spawned.session_key)["spawnAuthority"] == Authority.AUTHORIZED
    assert "exec" not in tools_of(engine, engine.take(spawned.session_key))


def test_a_tool_that_the_channel_cannot_be_used_with_is_not_offered(engine: EngineHarness) -> None:
    engine.say(text(say("hello")), GROUP, route=IN_GROUP)
    taken = engine.take(GROUP)
    taken.row.update(lastChannel="telegram", lastCapabilities="buttons,-exec")

    left = tools_of(engine, taken)

    assert "exec" not in left
    assert "read" in left


def test_the_report_and_the_turn_agree(make_engine: MakeEngine) -> None:
    engine = make_engine(READERS)
    engine.say(text(say("hello")), GROUP, route=IN_GROUP, authority=Authority.ANYONE)
    had = tools_of(engine, engine.take(GROUP))

    report = engine.built.tool_reports.report(GROUP, Authority.ANYONE)

    assert {tool["name"] for tool in report["tools"] if tool["allowed"]} == had
    (removed,) = [tool for tool in report["tools"] if tool["name"] == "exec"]
    assert (removed["removedBy"], removed["setting"]) == (
        "group",
        'channels.telegram.groups["-100"].tools.allow: [read, group:sessions]',
    )


def test_the_tools_of_a_turn_and_of_its_sub_agents_are_those_of_who_asked(make_engine: MakeEngine) -> None:
    by_sender = {"7": {}, "8": {"deny": ["exec"]}}
    engine = make_engine({"channels": {"telegram": {"groups": {"-100": {"toolsBySender": by_sender}}}}})
    child = program(say("done"))
    spawning = text(spawn(child, label="c"), say("spawned"), say("heard"))
    engine.say(spawning, GROUP, route=IN_GROUP, sender_id="8")
    run_on(engine)
    (spawned,) = engine.stores.tree.children(GROUP)

    assert engine.stores.reader.row(spawned.session_key)["toolGroup"] == "telegram|default|-100|8"
    engine.say(text(say("hello")), spawned.session_key)
    assert "exec" not in tools_of(engine, engine.take(spawned.session_key))
    for number, (sender, has_exec) in enumerate((("7", True), ("8", False), ("9", True), ("", False))):
        session = GROUP if number == 0 else SessionKey(f"agent:main:telegram:group:-100:topic:{number}")
        engine.say(text(say("hello")), session, route=IN_GROUP, sender_id=sender)
        assert ("exec" in tools_of(engine, engine.take(session))) is has_exec, sender


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def test_a_fallback_has_no_tool_that_is_denied_to_its_provider(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, tools={"byProvider": {"b": {"deny": ["write"]}}})
    for name in ("a1:m", "a2:m", "a1:n", "a2:n"):
        wired.plan(name, *[Failure(402, "no money")] * 2)
    wired.plan("b1:m", Reply(calls=[Called("write", {"path": "x", "content": "y"})]))

    run = wired.turn()

    assert (run.state, run.text) == ("ok", "b1:m")
    offered = [{each["function"]["name"] for each in request.body["tools"]} for request in server.requests]
    assert ["write" in names for names in offered] == [True] * (len(offered) - 2) + [False] * 2
    assert "read" in offered[-1]
    (result,) = [message for message in server.requests[-1].body["messages"] if message["role"] == "tool"]
    assert "there is no tool 'write'" in result["content"]
