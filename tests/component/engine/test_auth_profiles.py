"""Whose key is used: an agent's own serves that agent alone, and is written down nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import FailureReason as Why
from tests.component.engine.conftest import MakeEngine
from tests.component.engine.wire_harness import WireHarness, wire_engine
from tests.component.store.snapshot import snapshot
from tests.support.wire import Called, Failure, Reply, WireServer

OTHER = "agent:other:main"
AGENTS = {"list": [{"id": "main", "subagents": {"allowAgents": ["other"]}}, {"id": "other"}]}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture
def wired(make_engine: MakeEngine, server: WireServer) -> WireHarness:
    return wire_engine(make_engine, server, agents=AGENTS, model="a/m")


def own(wired: WireHarness, agent: str, *keys: str, order: list[str] | None = None, at: Path | None = None) -> Path:
    """Give an agent keys of its own; a profile is called k1, k2 … with every agent."""
    directory = at or wired.engine.loaded.state_dir / "agents" / agent
    directory.mkdir(parents=True, exist_ok=True)
    profiles = {f"k{number}": {"provider": "a", "apiKey": key} for number, key in enumerate(keys, start=1)}
    path = directory / "auth-profiles.json"
    path.write_text(json.dumps({"profiles": profiles, "order": {"a": order or []}}))
    return path


def talk(wired: WireHarness, agent: str, count: int) -> list[str | None]:
    return [wired.turn(session=f"agent:{agent}:s{number}").text for number in range(count)]


def test_an_agents_own_key_goes_before_the_shared_ones_and_serves_nobody_else(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    assert talk(wired, "main", 3) == ["own-main:m"] * 3
    assert talk(wired, "other", 3) == ["a1:m", "a2:m", "a1:m"]


def test_shared_keys_serve_when_the_own_one_fails(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    wired.plan("own-main:m", Failure(402, "no money"))
    assert talk(wired, "main", 3) == ["a1:m", "a2:m", "a1:m"]
    wired.cool("a/a1", "a/a2", reason=Why.BILLING)
    own(wired, "other", "own-other")
    assert talk(wired, "other", 1) == ["own-other:m"], "what happened to the other profile k1 is not its concern"


def test_when_all_that_an_agent_may_use_fails_it_does_not_borrow(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    wired.cool("a/a1", "a/a2", reason=Why.BILLING)
    run = wired.turn(session=OTHER)
    assert (run.state, run.reason, wired.asked()) == ("error", Why.BILLING, [])


def test_own_keys_follow_their_order_or_take_turns(wired: WireHarness) -> None:
    own(wired, "main", "o1", "o2", "o3", order=["k3"])
    assert talk(wired, "main", 2) == ["o3:m", "o3:m"]
    own(wired, "other", "p1", "p2")
    assert talk(wired, "other", 4) == ["p1:m", "p2:m"] * 2


def spawned(wired: WireHarness, key: str, agent: str = "other") -> Run:
    """Let `main` spawn a child of an agent; gives the child's run."""
    call: dict[str, Any] = {"task": "say who you are", "agentId": agent}
    wired.plan(f"{key}:m", Reply(calls=[Called("sessions_spawn", call)]), Reply("spawned"))
    wired.turn("spawn")
    wired.engine.work()
    (child,) = [run for run in wired.engine.stores.reader.runs(limit=99) if run.is_child]
    return child


def test_a_child_of_another_agent_uses_that_agents_key(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    own(wired, "other", "own-other")
    child = spawned(wired, "own-main")
    assert (child.agent_id, child.text) == ("other", "own-other:m")
    calls = {(call.agent, call.profile) for call in wired.ledger()}
    assert calls == {("main", "main:k1"), ("other", "other:k1")}


def test_a_child_of_the_same_agent_uses_its_own_key(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    own(wired, "other", "own-other")
    child = spawned(wired, "own-main", agent="main")
    assert (child.agent_id, child.text) == ("main", "own-main:m")
    assert {(call.agent, call.profile) for call in wired.ledger()} == {("main", "main:k1")}


def test_a_child_of_an_agent_without_keys_uses_the_shared_ones(wired: WireHarness) -> None:
    own(wired, "main", "own-main")
    child = spawned(wired, "own-main")
    assert child.text in ("a1:m", "a2:m")


def test_a_key_is_in_no_record_and_in_no_log(wired: WireHarness, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even if the server repeats it."""
    path = own(wired, "main", "own-secret-1", "own-secret-2")
    wired.plan("own-secret-1:m", Failure(401, "Incorrect API key provided: own-secret-1"))
    wired.plan("own-secret-2:m", Failure(429, "own-secret-2 is over its limit"))
    run = wired.turn()
    assert run.state == "ok"
    assert [each.profile for each in run.model_attempts] == ["main:k1", "main:k2"]
    written = [path for path in wired.engine.loaded.state_dir.rglob("*") if path.is_file()]
    written.remove(path)
    printed = capsys.readouterr()
    places = [str(snapshot(wired.engine.stores.redis)), run.model_dump_json(), printed.out, printed.err]
    for text in [*places, *(each.read_text(errors="replace") for each in written)]:
        assert "own-secret" not in text


@pytest.mark.parametrize("form", ["profiles", "list"])
def test_the_file_may_be_elsewhere(make_engine: MakeEngine, server: WireServer, tmp_path: Path, form: str) -> None:
    profiles = {"main": {"authDir": str(tmp_path / "keys")}, "other": {}}
    listed = [{"id": name, **given} for name, given in profiles.items()]
    wired = wire_engine(make_engine, server, agents={form: listed if form == "list" else profiles}, model="a/m")
    own(wired, "main", "own-main", at=tmp_path / "keys")
    assert (talk(wired, "main", 1), talk(wired, "other", 1)) == (["own-main:m"], ["a1:m"])


def test_a_broken_file_fails_its_own_agent_only_and_quotes_nothing(wired: WireHarness) -> None:
    own(wired, "main", "own-main").write_text('{"profiles": {"k1": "own-main"}}')
    run = wired.turn()
    assert run.state == "error"
    assert "auth-profiles.json cannot be read" in (run.error or "")
    assert "own-main" not in (run.error or "")
    assert talk(wired, "other", 1) == ["a1:m"]


def test_the_agents_folder_of_openclaw_is_read_too(wired: WireHarness) -> None:
    own(wired, "main", "own-main", at=wired.engine.loaded.state_dir / "agents" / "main" / "agent")
    assert talk(wired, "main", 1) == ["own-main:m"]


def test_a_profile_without_a_key_is_left_out_and_named(wired: WireHarness, capsys: pytest.CaptureFixture[str]) -> None:
    path = own(wired, "main", "own-main")
    found = json.loads(path.read_text())
    found["profiles"]["sub"] = {"type": "oauth", "provider": "a", "access": "own-secret"}
    path.write_text(json.dumps(found))

    assert talk(wired, "main", 1) == ["own-main:m"]
    logged = capsys.readouterr().out
    assert "key.skipped" in logged
    assert "sub" in logged
    assert "own-secret" not in logged
