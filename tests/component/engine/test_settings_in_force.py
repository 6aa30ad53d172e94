"""Settings that only a whole turn shows: from the file to what a tool may do and what the model is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openclaw_workers.agent.prompt.texts import LOOP_BLOCKED
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.transcript import CompactionEntry, ToolResultEntry
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import ask, engine_with, system
from tests.component.engine.test_turn_runner import execute, program
from tests.support.wire import WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def results(engine: EngineHarness) -> list[str]:
    return [entry.content[0].text for entry in engine.log() if isinstance(entry, ToolResultEntry)]


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"tools": {"exec": {"timeoutSec": 1}}}, "1 s"),
        ({"engine": {"toolTimeoutSeconds": 0.3}}, "0.3 s"),
        ({"engine": {"toolTimeoutSeconds": 0.3}, "tools": {"exec": {"timeoutSec": 50}}}, "0.3 s"),
    ],
)
def test_a_command_that_names_no_time_has_the_configured_one(
    make_engine: MakeEngine, config: dict[str, Any], limit: str
) -> None:
    engine = make_engine(config)

    ask(engine, program(execute("sleep 1000"), {"text": "done"}))

    assert f"the command was ended after {limit};" in results(engine)[0]


@pytest.mark.parametrize("tool", ["web_fetch", "web_search"])
def test_web_tools_can_be_taken_from_all_agents(make_engine: MakeEngine, server: WireServer, tool: str) -> None:
    models = {"providers": {"wire": {"baseUrl": server.url, "api": "anthropic-messages", "models": [{"id": "m"}]}}}
    for enabled in (True, False):
        web = {tool.removeprefix("web_"): {"enabled": enabled}}
        agents = {"defaults": {"model": "wire/m"}}
        ask(make_engine({"models": models, "agents": agents, "tools": {"web": web}}), "hello")
        names = {each["name"] for each in server.requests[-1].body["tools"]}
        assert (tool in names, f"- {tool}:" in system(server.requests[-1])[0]) == (enabled, enabled)


def test_a_search_without_a_configured_service_tells_the_model_what_is_missing(make_engine: MakeEngine) -> None:
    engine = make_engine()
    search = {"calls": [{"tool": "web_search", "input": {"query": "red pandas"}}]}
    ask(engine, program(search, {"text": "done"}))
    assert results(engine)[0].startswith("web_search is not configured.")


def test_loops_are_looked_for_as_the_settings_of_all_agents_say(make_engine: MakeEngine) -> None:
    detection = {"warningThreshold": 1, "criticalThreshold": 2, "globalCircuitBreakerThreshold": 3}
    engine = make_engine({"tools": {"loopDetection": detection}})

    ask(engine, program(*[execute("true")] * 4, {"text": "done"}))

    assert [LOOP_BLOCKED in text for text in results(engine)] == [False, False, False, True]


def test_files_of_the_workspace_share_one_limit(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server, bootstrapTotalMaxChars=1400)
    place = engine.loaded.state_dir / "workspace"
    place.mkdir(parents=True)
    (place / "AGENTS.md").write_text("a" * 900)
    (place / "SOUL.md").write_text("s" * 900)

    ask(engine, "hello")

    prompt = "".join(system(server.requests[0]))
    assert "a" * 900 in prompt
    assert 0 < prompt.count("s" * 10) < 50


def test_an_agent_may_see_less_than_its_model_can(make_engine: MakeEngine, server: WireServer) -> None:
    compacted = []
    for tokens in (None, 12_000):
        engine = engine_with(make_engine, server, window=60_000, contextTokens=tokens)
        session = SessionKey(f"agent:main:with-{tokens}")
        for _ in range(8):
            ask(engine, "x" * 8_000, session=session)
        compacted.append(any(isinstance(entry, CompactionEntry) for entry in engine.log(session)))

    assert compacted == [False, True]


def test_an_agent_works_in_the_directory_that_is_set(make_engine: MakeEngine, tmp_path: Path) -> None:
    engine = make_engine({"agents": {"defaults": {"workspace": str(tmp_path / "desk")}}})

    ask(engine, program(execute("pwd"), {"text": "done"}))

    assert str(tmp_path / "desk") in results(engine)[0]


@pytest.mark.parametrize("seconds", [5.0, 40.0])
def test_a_lease_lasts_as_long_as_it_is_set_to(make_engine: MakeEngine, seconds: float) -> None:
    engine = make_engine({"engine": {"leaseSeconds": seconds}})
    engine.say("hello")

    taken = engine.take()

    assert int(engine.ctl("lease_until")) - taken.now == seconds * 1000


def test_two_installations_share_one_redis_under_two_names(make_engine: MakeEngine, namespace: str) -> None:
    one, two = (make_engine({"engine": {"namespace": f"{namespace}-{name}"}}) for name in ("a", "b"))
    try:
        ask(one, "hello")

        assert len(one.log()) == 2
        assert two.log() == []
        keys = one.stores.redis.keys(f"{namespace}-*")
        assert keys
        assert all(key.startswith(f"{namespace}-a:") for key in map(str, keys))
    finally:
        for key in one.stores.redis.keys(f"{namespace}-*"):
            one.stores.redis.delete(key)


@pytest.mark.parametrize("agents", [{"list": [{"id": "a", "name": "Ada"}]}, {"profiles": {"a": {"name": "Ada"}}}])
def test_an_agents_prompt_has_the_name_it_was_given(
    make_engine: MakeEngine, server: WireServer, agents: dict[str, Any]
) -> None:
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "models": [{"id": "m"}]}
    config = {"models": {"providers": {"wire": provider}}, "agents": {"defaults": {"model": "wire/m"}, **agents}}

    ask(make_engine(config), "hello", session=SessionKey("agent:a:main"))

    assert system(server.requests[0])[0].startswith("You are Ada,")


GROUP = SessionKey("agent:main:telegram:group:1")
THREAD = SessionKey("agent:main:telegram:group:1:topic:2")


class Chat(NamedTuple):
    """A session, and where below `session` the rule stands by which it is reset."""

    session: SessionKey
    place: tuple[str, ...]

    def is_reset(self, make: MakeEngine, silent: timedelta, rule: dict[str, Any], zone: str = "UTC") -> bool:
        """Whether a message after so long a silence finds another session than the one before it."""
        for name in reversed(self.place):
            rule = {name: rule}
        engine = make({"agents": {"defaults": {"userTimezone": zone}}, "session": rule})
        old = self._spoken(engine)
        spoken = (old.last_interaction_at or 0) - int(silent.total_seconds() * 1000)
        engine.stores.redis.hset(engine.stores.keys.row(self.session), "lastInteractionAt", str(spoken))
        return self._spoken(engine).session_id != old.session_id

    def _spoken(self, engine: EngineHarness) -> SessionEntry:
        ask(engine, "hello", session=self.session, route=Route(channel="telegram"))
        row = engine.stores.reader.session(self.session)
        assert row is not None
        return row


CHATS = pytest.mark.parametrize(
    "chat",
    [
        pytest.param(Chat(SESSION, ("reset",)), id="in-general"),
        pytest.param(Chat(SESSION, ("resetByType", "dm")), id="direct-chats"),
        pytest.param(Chat(GROUP, ("resetByType", "group")), id="groups"),
        pytest.param(Chat(THREAD, ("resetByType", "thread")), id="threads"),
        pytest.param(Chat(SESSION, ("resetByChannel", "telegram")), id="a-channel"),
    ],
)


@CHATS
@pytest.mark.parametrize(
    ("rule", "silent", "expected"),
    [
        ({"mode": "none"}, timedelta(days=9), False),
        ({"mode": "daily"}, timedelta(days=9), True),
        ({"mode": "idle", "idleMinutes": 5}, timedelta(minutes=6), True),
        ({"mode": "idle", "idleMinutes": 5}, timedelta(minutes=4), False),
    ],
)
def test_a_session_is_reset_by_the_rule_of_its_chat(
    make_engine: MakeEngine, chat: Chat, rule: dict[str, Any], silent: timedelta, expected: bool
) -> None:
    assert chat.is_reset(make_engine, silent, rule) is expected


@CHATS
def test_the_daily_reset_is_at_its_hour_by_the_clock_of_the_people_it_serves(
    make_engine: MakeEngine, chat: Chat
) -> None:
    # Given a zone where it is between half past seven and half past eight, whatever the host's clock says
    now = datetime.now(UTC)
    ahead = (7 - now.hour + (now.minute < 30)) % 24
    zone = f"Etc/GMT-{ahead}" if ahead <= 12 else f"Etc/GMT+{24 - ahead}"  # named as in POSIX: minus is east
    since = timedelta(hours=int(now.minute < 30), minutes=now.minute)
    daily = {"mode": "daily", "atHour": 7}

    # Then what was said before seven there is of the session before, and what was said after it is not
    assert chat.is_reset(make_engine, since + timedelta(minutes=20), daily, zone)
    assert not chat.is_reset(make_engine, since - timedelta(minutes=20), daily, zone)
