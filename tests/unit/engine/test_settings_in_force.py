"""Settings that only a whole turn shows: from the file to what a tool may do and what the model is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.agent.loop_detection import BLOCKED
from openclaw_workers.models.transcript import ToolResultEntry
from tests.support.wire import WireServer
from tests.unit.engine.conftest import House, MakeHouse
from tests.unit.engine.model_talk import ask, house_with, system
from tests.unit.engine.test_turns import execute, program


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def results(house: House) -> list[str]:
    return [entry.content[0].text for entry in house.log() if isinstance(entry, ToolResultEntry)]


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"tools": {"exec": {"timeoutSec": 1}}}, "1 s"),
        ({"engine": {"toolTimeoutSeconds": 0.3}}, "0.3 s"),
        ({"engine": {"toolTimeoutSeconds": 0.3}, "tools": {"exec": {"timeoutSec": 50}}}, "0.3 s"),
    ],
)
def test_a_command_that_names_no_time_has_the_configured_one(
    make_house: MakeHouse, config: dict[str, Any], limit: str
) -> None:
    house = make_house(config)

    ask(house, program(execute("sleep 1000"), {"text": "done"}))

    assert f"the command was ended after {limit};" in results(house)[0]


def test_loops_are_looked_for_as_the_settings_of_all_agents_say(make_house: MakeHouse) -> None:
    detection = {"warningThreshold": 1, "criticalThreshold": 2, "globalCircuitBreakerThreshold": 3}
    house = make_house({"tools": {"loopDetection": detection}})

    ask(house, program(*[execute("true")] * 4, {"text": "done"}))

    assert [BLOCKED in text for text in results(house)] == [False, False, False, True]


def test_files_of_the_workspace_share_one_limit(make_house: MakeHouse, server: WireServer) -> None:
    house = house_with(make_house, server, bootstrapTotalMaxChars=1400)
    place = house.loaded.state_dir / "workspace"
    place.mkdir(parents=True)
    (place / "AGENTS.md").write_text("a" * 900)
    (place / "SOUL.md").write_text("s" * 900)

    ask(house, "hello")

    prompt = "".join(system(server.requests[0]))
    assert "a" * 900 in prompt
    assert 0 < prompt.count("s" * 10) < 50
