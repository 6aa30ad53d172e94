"""Which session the command line talks to, depending on the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.mark.parametrize(
    ("session", "key"),
    [
        ({}, "agent:main:main"),
        ({"mainKey": "work"}, "agent:main:work"),
        ({"scope": "global"}, "agent:main:global"),
        ({"dmScope": "per-peer"}, "agent:main:dm:ada"),
        ({"dmScope": "per-channel-peer"}, "agent:main:cli:dm:ada"),
        ({"dmScope": "per-account-channel-peer"}, "agent:main:cli:local:dm:ada"),
        ({"dmScope": "per-peer", "identityLinks": {"countess": ["cli:ada"]}}, "agent:main:dm:countess"),
        ({"dmScope": "per-peer", "identityLinks": {"countess": ["telegram:ada"]}}, "agent:main:dm:ada"),
    ],
)
def test_a_message_goes_to_the_session_that_the_settings_name(
    empty: Fleet, tmp_path: Path, session: dict[str, Any], key: str
) -> None:
    config = tmp_path / "openclaw.json"
    config.write_text(json.dumps({"session": session}))
    env = {"OPENCLAW_CONFIG": str(config), "LOGNAME": "ada"}

    done = Ocw(empty)("agent", "-m", "hello", "--no-wait", "--json", env=env)

    assert (done.code, done.json["sessionKey"]) == (0, key), done.err
    [shown] = [each for each in Ocw(empty)("sessions", "list", "--json", env=env).json["sessions"] if each["waiting"]]
    assert (shown["sessionKey"], shown["kind"] == "main") == (key, key.endswith((":main", ":work")))
    assert Ocw(empty)("sessions", "delete", key, "--yes", env=env).code == 0


def test_a_binding_chooses_the_agent_of_the_command_line(empty: Fleet, tmp_path: Path) -> None:
    config = tmp_path / "openclaw.json"
    binding = {"agentId": "work", "match": {"channel": "cli", "accountId": "local"}}
    config.write_text(json.dumps({"agents": {"list": [{"id": "main"}, {"id": "work"}]}, "bindings": [binding]}))
    env = {"OPENCLAW_CONFIG": str(config)}

    sent = [
        Ocw(empty)("agent", "-m", "hello", "--no-wait", "--json", *more, env=env) for more in ([], ["--agent", "main"])
    ]

    assert [done.json["sessionKey"] for done in sent] == ["agent:work:main", "agent:main:main"]
