"""What compose.yaml promises, as far as it can be checked without a Docker engine."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw_workers.config.loader import ENVIRONMENT, load
from openclaw_workers.config.resolve import default_model
from openclaw_workers.domain.runs import WORKER_LANES

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def test_every_lane_has_its_workers() -> None:
    commands = {name: service["command"] for name, service in SERVICES.items()}

    for lane in WORKER_LANES:
        assert commands[lane] == ["ocw", "worker", "--lane", lane]


def test_workers_get_the_model_variables_and_flower_does_not() -> None:
    wanted = {name: f"${{{name}:-}}" for name, place in ENVIRONMENT.items() if place[0] == "models"}
    assert wanted

    for lane in WORKER_LANES:
        assert wanted.items() <= SERVICES[lane]["environment"].items()
    assert not wanted.keys() & SERVICES["flower"]["environment"].keys()
    assert SERVICES["flower"]["environment"].items() <= SERVICES["main"]["environment"].items()


@pytest.mark.parametrize(
    ("given", "model"), [({}, "offline/demo"), ({"OPENAI_API_KEY": "k"}, "openai/gpt-4o")], ids=["none", "openai"]
)
def test_an_unset_variable_arrives_empty_and_has_no_effect(tmp_path: Path, given: dict[str, str], model: str) -> None:
    inside = {name: given.get(name, "") for name in ENVIRONMENT}
    loaded = load(env={"HOME": str(tmp_path), **inside}, cwd=tmp_path, state_dir=tmp_path)
    assert default_model(loaded.settings, inside) == model


def test_ports_are_published_on_loopback_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_named_file_exists_and_secrets_come_from_files() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())

    assert (ROOT / "deploy/Dockerfile").exists()
    assert (ROOT / "deploy/redis.conf").exists()
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_the_stop_grace_period_is_longer_than_the_workers_grace() -> None:
    assert all(SERVICES[lane]["stop_grace_period"] == "40s" for lane in WORKER_LANES)


def test_no_secret_and_no_environment_is_copied_into_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())

    folders = {f"/{Path(secret['file']).parent}/" for secret in compose["secrets"].values()}
    assert {*folders, "/.env", ".venv/", ".git"} <= set(ignored)


def test_the_constraints_match_the_installed_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {_plain(name): version for name, version in (line.split("==") for line in lines)}
    needed = {_plain(each) for each in (*project["dependencies"], *project["optional-dependencies"]["dev"])}
    here = {_plain(each.name): each.version for each in distributions()}

    assert needed - pinned.keys() == set()
    assert {name: here.get(name) for name in pinned if name in here or name not in needed} == {
        name: version for name, version in pinned.items() if name in here or name not in needed
    }


def _plain(requirement: str) -> str:
    """The name of a requirement, as the index spells it."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
