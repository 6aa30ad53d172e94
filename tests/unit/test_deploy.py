"""What compose.yaml promises, as far as it can be checked without a Docker engine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from openclaw_workers.models.runs import Lane

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def test_every_lane_has_its_workers() -> None:
    commands = {name: service["command"] for name, service in SERVICES.items()}

    for lane in Lane:
        assert commands[lane] == ["ocw", "worker", "--lane", lane]


def test_nothing_is_published_beyond_loopback() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_file_that_is_named_exists_and_secrets_come_from_files() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())

    assert (ROOT / "deploy/Dockerfile").exists()
    assert (ROOT / "deploy/redis.conf").exists()
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_a_worker_gets_longer_to_leave_than_its_grace() -> None:
    assert all(SERVICES[lane]["stop_grace_period"] == "40s" for lane in Lane)


def test_the_entrypoint_is_valid_shell() -> None:
    subprocess.run(["/bin/sh", "-n", ROOT / "deploy/entrypoint.sh"], check=True)
