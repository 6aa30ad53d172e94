"""Both backends, for tests that hold for either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.memory.backend import Backend
from openclaw_workers.memory.qdrant_edge import EdgeBackend
from openclaw_workers.memory.server import ServerBackend
from tests.support.qdrant_server import qdrant_server


@pytest.fixture(params=["embedded", "server"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param == "embedded":
        embedded = EdgeBackend(tmp_path / "index")
        yield embedded
        embedded.close()
        return
    with qdrant_server("secret") as (url, _):
        server = ServerBackend(url, "secret")
        yield server
        server.close()
