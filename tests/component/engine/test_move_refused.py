"""The files of an agent are not moved while a command of it runs in the background, whoever started it when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from openclaw_workers.config.loader import Loaded
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.stores import Stores
from openclaw_workers.errors import ConflictError
from openclaw_workers.queries.installation import Installation
from openclaw_workers.queries.move_answers import begin_move
from openclaw_workers.store.moves import Move, Moves
from tests.component.engine.conftest import EngineHarness
from tests.component.engine.model_turns import ask
from tests.component.engine.test_background_commands import commands_of, start
from tests.component.engine.test_turn_runner import program
from tests.support.waiting import eventually


@dataclass
class Asked:
    """As much of an installation as a move asks for."""

    loaded: Loaded
    stores: Stores


def installation(engine: EngineHarness) -> Installation:
    return cast(Installation, Asked(engine.loaded, engine.stores))


@pytest.fixture
def hosts(engine: EngineHarness) -> Iterator[EngineHarness]:
    """One host that has the files and answers for its state directory, and one that sees neither."""
    tick = engine.stores.leases.tick
    facts = {"lane": "main,service", "state": engine.built.archives.place_id}
    tick(WorkerId("one/1/x"), {"host": "one", **facts}, [])
    tick(WorkerId("two/1/x"), {"host": "two", **facts, "state": "unknown", "cannot_serve": "main"}, [])
    ask(engine, program({"text": "hello"}))  # makes the place of the agent
    service = engine.built.place_service
    service.start()
    yield engine
    service.stop()
    for command in commands_of(engine).all():
        if command.state() == "running":
            command.kill()


def test_it_is_refused_and_the_command_is_named(hosts: EngineHarness) -> None:
    held = start(hosts, "sleep 600")

    with pytest.raises(ConflictError, match="`sleep 600` of agent:main:main") as refused:
        begin_move(installation(hosts), "main", "two", with_files=True)
    assert f"process {held.info.pid} on {held.info.host}" in refused.value.message
    assert hosts.stores.moves.current("main") is None

    held.kill()
    eventually(lambda: held.state() != "running", within=20)
    assert begin_move(installation(hosts), "main", "two", with_files=True).state == "copying"


def test_a_command_that_the_last_turn_leaves_meanwhile_ends_the_move(
    hosts: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Moves.begin

    def begin_late(moves: Moves, *which: Any, **how: Any) -> Move:
        start(hosts, "sleep 600")
        return begin(moves, *which, **how)

    monkeypatch.setattr(Moves, "begin", begin_late)

    with pytest.raises(ConflictError, match="sleep 600"):
        begin_move(installation(hosts), "main", "two", with_files=True)

    assert hosts.stores.moves.current("main") is None
    bound = hosts.stores.places.of("main")
    assert bound is not None
    assert not bound.is_moving


def test_a_host_that_does_not_say_is_named(hosts: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openclaw_workers.engine.shell.agent_commands.ASK_SECONDS", 1.0)
    facts = {"host": "three", "lane": "main", "state": "nobody-answers"}
    hosts.stores.leases.tick(WorkerId("three/1/x"), facts, [])

    with pytest.raises(ConflictError, match="three cannot say whether commands of agent main run there"):
        begin_move(installation(hosts), "main", "two", with_files=True)
