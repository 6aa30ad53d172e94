"""A wire-level server for each test that wants one, and a model behind each of the three APIs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.config.models import Api
from tests.component.providers.wire_conversation import APIS, Wire
from tests.support.wire import WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    chosen: Api = request.param
    return chosen


@pytest.fixture
def wire(api: Api, server: WireServer) -> Wire:
    return Wire(server, api)
