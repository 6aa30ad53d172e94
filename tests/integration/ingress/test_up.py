"""`ocw up` starts the ingress too, keeps it running, and lets its owner in."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from openclaw_workers.cli.local.ingress import PORT_FILE
from openclaw_workers.state_dir import read_runtime
from tests.integration.test_up import Ocw
from tests.support.waiting import eventually


@pytest.fixture
def ocw(tmp_path: Path) -> Iterator[Ocw]:
    started = Ocw(tmp_path / "state")
    yield started
    started("down")


def browser() -> httpx2.Client:
    return httpx2.Client(trust_env=False, timeout=20)


def _is_free(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(url.rsplit(":", 1)[1]))) != 0


def test_the_owner_logs_in_with_the_link_and_talks_to_an_agent(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower")
    url = ready["ingressUrl"]
    with browser() as page:
        assert page.get(ready["loginUrl"]).status_code == 200
        me = page.get(f"{url}/api/v1/me").json()
        body = {"text": "hello", "wait": "reply"}
        answer = page.post(f"{url}/api/v1/send", json=body, headers={"Origin": url}).json()
        readiness = page.get(f"{url}/readyz")

    assert (me["scope"], me["authority"]) == ("admin", "owner")
    assert "offline/demo" in answer["reply"]
    assert (readiness.status_code, readiness.json()) == (200, {"ready": True, "missing": {}})
    status = json.loads(ocw("status", "--json").stdout)["ingress"]
    assert status["url"] == url
    assert status["processes"][0]["pid"] == ready["pids"]["ingress"]


def test_the_owners_token_is_in_a_file_for_the_owner_alone_and_stays(ocw: Ocw) -> None:
    url = ocw.up("--no-flower")["ingressUrl"]
    path = ocw.state_dir / "admin.token"
    first = path.read_text().strip()
    assert path.stat().st_mode & 0o777 == 0o600
    with browser() as page:
        assert page.get(f"{url}/api/v1/me", headers={"Authorization": f"Bearer {first}"}).status_code == 200
    for log in (ocw.state_dir / "logs").iterdir():
        assert first not in log.read_text(errors="replace")
    ocw("down")

    again = ocw.up("--no-flower")
    assert path.read_text().strip() == first
    assert again["ingressUrl"] == url or not _is_free(url), "the port stays the same unless somebody took it"
    ocw("tokens", "revoke", first.split("_")[1])
    ocw("down")
    ocw.up("--no-flower")
    assert path.read_text().strip() != first, "a revoked one is replaced"


def test_a_killed_ingress_is_started_again_on_its_port(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower")
    os.kill(ready["pids"]["ingress"], signal.SIGKILL)

    def serves() -> bool:
        runtime = read_runtime(ocw.state_dir)
        if runtime is None or runtime.pids.get("ingress") in (None, ready["pids"]["ingress"]):
            return False
        try:
            with urllib.request.urlopen(f"{ready['ingressUrl']}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    eventually(serves, within=60)


def test_a_port_in_use_is_given_way_to_and_a_configured_one_is_not(ocw: Ocw) -> None:
    """Not with the default port: other tests that run beside this one take and leave it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ocw.state_dir.mkdir(parents=True, exist_ok=True)
        (ocw.state_dir / PORT_FILE).write_text(f"{port}\n")
        assert not ocw.up("--no-flower")["ingressUrl"].endswith(f":{port}")
        ocw("down")
        (ocw.state_dir / "openclaw.yaml").write_text(f"gateway: {{port: {port}}}\n")
        done = ocw("up", "--detach", "--no-flower", "--json")
        assert done.returncode != 0
        assert str(port) in done.stdout + done.stderr + (ocw.state_dir / "logs" / "up.log").read_text(errors="replace")


def test_without_the_ingress_there_is_no_address(ocw: Ocw) -> None:
    ready = ocw.up("--no-flower", "--no-ingress")
    assert (ready["ingressUrl"], ready["loginUrl"]) == (None, None)
    assert "ingress" not in ready["pids"]
    assert ocw("tokens", "link", "0").returncode == 5


def test_the_banner_has_the_address_and_the_link(ocw: Ocw) -> None:
    done = ocw("up", "--detach", "--no-flower")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "http://127.0.0.1:" in lines["Web"]
    assert "/auth/link?code=" in lines["Log"]
