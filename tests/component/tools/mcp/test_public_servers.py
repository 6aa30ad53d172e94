"""Servers that others have written. `.ci/run` installs them; to run these tests elsewhere:

npm install -g @modelcontextprotocol/server-everything
pipx install mcp-server-time
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.component.tools.mcp.conftest import MakeServers

pytestmark = pytest.mark.timeout(120)


@pytest.mark.needs("mcp-server-everything")
def test_the_reference_server_of_npm(make_servers: MakeServers) -> None:
    servers = make_servers(every={"command": str(shutil.which("mcp-server-everything"))})

    assert servers.call("every__echo", message="hello").output == "Echo: hello"
    assert "5" in servers.call("every__get-sum", a=2, b=3).output
    (image,) = servers.call("every__get-tiny-image").files
    assert image.mime_type == "image/png"
    assert Path(image.path).read_bytes().startswith(b"\x89PNG")
    assert "ANTHROPIC" not in servers.call("every__get-env").output
    assert servers.call("every__trigger-long-running-operation", duration=1, steps=2).output
    assert servers.shown
    for tool in servers.all.tools():
        assert tool.spec.input_schema["type"] == "object"
        assert "$ref" not in json.dumps(tool.spec.input_schema)


@pytest.mark.needs("mcp-server-time")
def test_a_server_of_pypi(make_servers: MakeServers) -> None:
    servers = make_servers(time={"command": str(shutil.which("mcp-server-time"))})

    now = json.loads(servers.call("time__get_current_time", timezone="Europe/Berlin").output)

    assert now["timezone"] == "Europe/Berlin"
    assert servers.call("time__get_current_time", timezone="Nowhere/There").failed
