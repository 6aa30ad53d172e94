"""One ingress and workers for each lane, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.domain.tokens import Scope
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token, start_ingress
from tests.support.ocw import Ocw


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    config = {"agents": {"list": [{"id": "main", "default": True}, {"id": "work"}]}}
    with Fleet(tmp_path_factory.mktemp("fleet"), config) as running:
        running.ready(*(running.worker(lane, wait=False) for lane in ("main", "subagent", "service")))
        yield running


@pytest.fixture(scope="module")
def ingress(fleet: Fleet) -> Ingress:
    return start_ingress(fleet)


@pytest.fixture(scope="module")
def ocw(fleet: Fleet) -> Ocw:
    return Ocw(fleet)


@pytest.fixture(scope="module")
def api(fleet: Fleet, ingress: Ingress) -> Api:
    """With the rights of an owner."""
    return Api(ingress.url, new_token(fleet, Scope.ADMIN))


@pytest.fixture(scope="module")
def chat(fleet: Fleet, ingress: Ingress) -> Api:
    return Api(ingress.url, new_token(fleet, Scope.CHAT))


@pytest.fixture(scope="module")
def reader(fleet: Fleet, ingress: Ingress) -> Api:
    return Api(ingress.url, new_token(fleet, Scope.READ))


@pytest.fixture(scope="module")
def stranger(ingress: Ingress) -> Api:
    """Without a token."""
    return Api(ingress.url)
