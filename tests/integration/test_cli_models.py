"""`ocw models` lists cooldowns, and ends one when its cause is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.wire import Failure, Reply, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture
def fleet(server: WireServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    local = {"baseUrl": server.openai_url, "authProfiles": [{"id": "work", "apiKey": "k"}], "models": [{"id": "org/m"}]}
    other = {"baseUrl": server.openai_url, "models": [{"id": "m"}]}
    config = {
        "models": {"providers": {"local": local, "other": other}},
        "agents": {"defaults": {"model": "local/org/m"}},
    }
    with Fleet(tmp_path_factory.mktemp("models"), config) as running:
        running.worker()
        yield running


def test_a_billing_cooldown_is_listed_and_ended(fleet: Fleet, server: WireServer) -> None:
    ocw = Ocw(fleet)
    server.script += [Failure(402, "no money"), Reply("Paid.")]
    assert ocw("agent", "-m", "hello", within=120).code == 1
    refused = ocw("agent", "-m", "hello", within=120)
    assert "provider local is in cooldown after a failure (billing)" in refused.err
    assert "`ocw models resume <provider>` ends one" in refused.err

    found = ocw("models", "status", "--json").json["profiles"]
    assert [(each["provider"], each["profile"], each["paused"]) for each in found] == [
        ("local", "work", True),
        ("other", "default", False),
    ]
    assert (found[0]["reason"], found[0]["model"], len(found[0]["key"])) == ("billing", None, 8)
    assert 4.9 * 3_600_000 < found[0]["leftMs"] < 5.6 * 3_600_000
    lines = ocw("models", "status").out.splitlines()
    assert lines[1].split() == ["local", "work", "-", "cooldown", "billing", "5h"]
    assert lines[2].split() == ["other", "default", "-", "ready", "-", "-"]

    assert ocw("models", "resume", "other").out == "other is not in cooldown\n"
    assert ocw("models", "resume", "local/default").code == 5
    assert ocw("models", "resume", "elsewhere").code == 5
    assert ocw("models", "resume", "local/work").out == "resumed local/work; cooldown left: 5h (billing)\n"
    assert ocw("models", "resume", "local", "--json").json == {"ok": True, "resumed": []}
    assert ocw("agent", "-m", "hello", within=120).out == "Paid.\n"


def test_the_cooldown_of_one_model_names_that_model(fleet: Fleet, server: WireServer) -> None:
    ocw = Ocw(fleet)
    server.script += [Failure(503, "not now")] * 3
    ocw("agent", "-m", "hello", within=120)
    (paused,) = [each for each in ocw("models", "status", "--json").json["profiles"] if each["paused"]]
    assert (paused["profile"], paused["model"], paused["reason"]) == ("work", "org/m", "timeout")
    assert ocw("models", "resume", "local").out.startswith("resumed local/work org/m; cooldown left: ")
    assert not any(each["paused"] for each in ocw("models", "status", "--json").json["profiles"])
