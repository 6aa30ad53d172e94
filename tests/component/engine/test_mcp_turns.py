"""Tools of MCP servers in turns: every model API takes their schemas, and their images come back to the model."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw_workers.config.mcp import McpSettings
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.tools.mcp.servers import McpServers
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.model_turns import APIS, ask, engine_with, said, valid
from tests.support import mcp_stub
from tests.support.wire import Called, Reply, WireServer


@pytest.fixture
def servers() -> Iterator[McpServers]:
    stub = {"command": sys.executable, "args": [str(Path(mcp_stub.__file__))]}
    settings = {"servers": {"stub": stub}, "startWaitSeconds": 60}
    running = McpServers(McpSettings.model_validate(settings))
    yield running
    running.stop()


def with_servers(engine: EngineHarness, servers: McpServers) -> EngineHarness:
    parts = (engine.loaded, engine.stores, engine.waker, engine.process)
    return replace(engine, built=WorkerEngine(*parts, WorkerId("here/1/a"), default_model="wire/m", mcp=servers))


@pytest.mark.parametrize("api", APIS)
def test_every_api_takes_their_schemas_and_gets_their_images(
    make_engine: MakeEngine, servers: McpServers, api: str
) -> None:
    replies = (
        Reply(calls=[Called("stub__picture", {}), Called("stub__odd_name", {"what_is_it_": "a dot"})]),
        Reply("ok"),
    )
    with WireServer(*replies) as server:
        engine = with_servers(engine_with(make_engine, server, api, sees=True), servers)

        run = ask(engine, "what do you see?")

        assert (run.text, valid(server)) == ("ok", True)
        first, second = server.requests
        assert "stub__odd_name" in said(first)
        assert base64.b64encode(mcp_stub.PNG).decode() in said(second)
        assert "what is it?" in said(second)
