"""Where the ingress listens, and whether it is ready."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet
from tests.support.ingress import Api, start_ingress
from tests.support.waiting import eventually

OTHER = "127.0.0.2"
"""An address of this machine that is not the one of loopback."""


@pytest.fixture
def make_fleet(tmp_path: Path) -> Iterator[Any]:
    fleets = list[Fleet]()

    def make(**gateway: Any) -> Fleet:
        fleets.append(Fleet(tmp_path / "fleet", {"gateway": gateway}))
        return fleets[-1].__enter__()

    yield make
    for fleet in fleets:
        fleet.__exit__(None, None, None)


def listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except OSError:
        return False


@pytest.mark.parametrize(
    ("bind", "reached", "shown"),
    [
        ("loopback", ["127.0.0.1"], "127.0.0.1"),
        ("lan", ["127.0.0.1", OTHER], "127.0.0.1"),
        (OTHER, [OTHER], OTHER),
    ],
)
def test_it_listens_at_the_configured_address(make_fleet: Any, bind: str, reached: list[str], shown: str) -> None:
    ingress = start_ingress(make_fleet(bind=bind))
    host, port = ingress.address
    assert host == shown
    assert [address for address in ("127.0.0.1", OTHER) if listens(address, port)] == reached
    for address in reached:
        assert Api(f"http://{address}:{port}").status("GET", "/healthz") == 200


def test_a_lan_address_is_served_under_any_address_but_no_foreign_name(make_fleet: Any) -> None:
    ingress = start_ingress(make_fleet(bind="lan"))
    client = Api(ingress.url)
    for host, status in (("192.168.1.20:18789", 200), (socket.gethostname(), 200), ("evil.example", 403)):
        assert client.status("GET", "/healthz", headers={"Host": host}) == status


def test_it_is_ready_once_every_lane_has_a_worker_and_redis_answers(make_fleet: Any) -> None:
    fleet: Fleet = make_fleet()
    client = Api(start_ingress(fleet).url)

    def missing() -> dict[str, str]:
        answer = client.http.get("/readyz")
        assert answer.status_code == (503 if answer.json()["missing"] else 200)
        return dict(answer.json()["missing"])

    assert set(missing()) == {"lane main", "lane subagent", "lane service"}
    workers = [fleet.worker(lane, wait=False) for lane in ("main", "subagent", "service")]
    fleet.ready(*workers)
    assert missing() == {}
    workers[1].term()
    eventually(lambda: missing() == {"lane subagent": "no worker"}, within=30)
    fleet.redis_server.kill()
    assert set(missing()) == {"redis"}
    assert client.status("GET", "/healthz") == 200
    fleet.redis_server.restart()
    eventually(lambda: missing() == {"lane subagent": "no worker"}, within=30)
