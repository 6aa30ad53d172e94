"""One configuration for all hosts: published, followed by workers while they work, and rolled back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw_workers.domain.runs import RunState
from openclaw_workers.store.configs import ANY_VERSION, ConfigDocument, Configs
from tests.support.fleet import LANES, Fleet, WorkerProcess
from tests.support.hosts import OtherHost
from tests.support.ocw import Gate, Ocw
from tests.support.waiting import eventually
from tests.support.wire import Called, Recorded, Reply, WireServer

KEY = "BOX_KEY"


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(answer=lambda request: Reply(f"I am {request.body['model']}")) as running:
        yield running


def answers_with(model: str) -> dict[str, Any]:
    """Agents that run on every host: these tests are about configurations, not about files."""
    return {"model": model, "workspace": {"place": "any"}}


def boxed(server: WireServer, **more: Any) -> dict[str, Any]:
    """A provider with two models, whose key is a variable of each host."""
    models = [{"id": "first"}, {"id": "second"}]
    provider = {"baseUrl": server.openai_url, "apiKey": f"${{{KEY}}}", "models": models}
    return {
        "models": {"providers": {"box": provider}},
        "agents": {"defaults": answers_with("box/first")},
        "engine": {"namespace": "ocw", "leaseSeconds": 4.0},
        **more,
    }


@pytest.fixture
def fleet(tmp_path: Path, server: WireServer) -> Iterator[Fleet]:
    with Fleet(tmp_path / "fleet", boxed(server)) as running:
        yield running


def change(fleet: Fleet, **changes: Any) -> dict[str, Any]:
    """Edit the file of the first host and apply it there."""
    config = yaml.safe_load(fleet.config_path.read_text())
    fleet.config_path.write_text(yaml.safe_dump({**config, **changes}))
    done = Ocw(fleet)("config", "apply", "--json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = done.json
    return answer


def workers_of(fleet: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [each for each in Ocw(fleet)("status", "--json").json["workers"] if each["alive"]]
    return found


def use(fleet: Fleet, version: int) -> None:
    """Wait until every worker uses a version."""
    eventually(lambda: all(each["configVersion"] == version for each in workers_of(fleet)), within=60)


def key_of(request: Recorded) -> str:
    return request.headers["authorization"].removeprefix("Bearer ")


def test_a_second_host_with_the_address_of_redis_and_one_secret_answers_with_the_same_model(
    fleet: Fleet, server: WireServer
) -> None:
    first = fleet.worker(BOX_KEY="k-one")
    assert fleet.outcome(fleet.send("hi", "a"), within=90).text == "I am first"
    first.term()
    first.wait(60)

    other = OtherHost(fleet, BOX_KEY="k-two")
    other.worker()
    assert fleet.outcome(fleet.send("hi", "b"), within=90).text == "I am first", fleet.logs()

    assert [key_of(request) for request in server.requests] == ["k-one", "k-two"]
    assert "k-one" not in json.dumps([str(each) for each in fleet.stores.redis.hgetall(fleet.stores.keys.config)])
    assert other.ocw("agents", "list", "--json").json["agents"][0]["model"] == "box/first"


def test_apply_changes_the_model_under_load_without_a_restart_and_rollback_brings_it_back(
    fleet: Fleet, server: WireServer
) -> None:
    server.answer = lambda request: Reply(f"I am {request.body['model']}", gap_seconds=0.05)
    one, two = fleet.worker(BOX_KEY="k"), OtherHost(fleet, BOX_KEY="k").worker()
    sent = [fleet.send("hi", f"before-{index}") for index in range(12)]
    eventually(lambda: len(server.requests) > 2, within=60)

    answer = change(fleet, agents={"defaults": answers_with("box/second")})
    sent += [fleet.send("hi", f"during-{index}") for index in range(12)]
    use(fleet, answer["version"])
    after = fleet.outcomes([fleet.send("hi", f"after-{index}") for index in range(6)])

    model = next(each for each in answer["changes"] if each["path"] == "agents.defaults.model")
    assert (model["before"], model["after"]) == ("box/first", "box/second")
    assert all(outcome.run and outcome.run.state is RunState.OK for outcome in fleet.outcomes(sent)), fleet.logs()
    assert {outcome.text for outcome in after} == {"I am second"}

    back = Ocw(fleet)("config", "rollback", "--json").json
    assert (back["version"], back["rolledBackTo"]) == (3, 1)
    use(fleet, 3)
    assert fleet.outcome(fleet.send("hi", "again")).text == "I am first"
    assert (one.respawns, two.respawns) == (0, 0)
    assert one.is_running()
    assert two.is_running()


def test_a_turn_keeps_its_configuration_to_its_end(fleet: Fleet, server: WireServer) -> None:
    gate = Gate(fleet, "open")
    server.script.append(Reply(calls=[Called("exec", {"command": gate.command})]))
    fleet.worker(BOX_KEY="k")
    queued = fleet.send("wait for the gate")
    eventually(lambda: fleet.events(kind="tool.started"), within=90)

    change(fleet, agents={"defaults": answers_with("box/second")})
    use(fleet, 2)
    gate.open()

    assert fleet.outcome(queued, within=60).text == "I am first", fleet.logs()
    assert fleet.outcome(fleet.send("hi", "next"), within=60).text == "I am second"


def test_a_host_without_the_secret_takes_no_turns_and_is_named(fleet: Fleet, server: WireServer) -> None:
    fleet.worker(BOX_KEY="k")
    lacking = OtherHost(fleet)
    other = lacking.worker(wait=False)
    eventually(lambda: "worker.takes_no_turns" in other.log_text(), within=60)

    outcomes = fleet.outcomes([fleet.send("hi", f"s{index}") for index in range(8)], within=90)

    assert {outcome.text for outcome in outcomes} == {"I am first"}
    assert other.finished() == 0
    assert KEY in other.log_text()
    text = Ocw(fleet)("status").out
    assert f"takes no turns: it lacks secrets that other workers have: {KEY}" in text
    assert f"lacks {KEY}" in text
    (named,) = [worker for worker in workers_of(fleet) if worker["missing"]]
    assert (named["missing"], named["pid"]) == ([KEY], _engine_pid(fleet, other))

    willing = OtherHost(fleet, "willing").worker("--without-secret", KEY)
    eventually(lambda: any(w["missing"] and not w["refusal"] for w in workers_of(fleet)), within=30)
    assert "worker.takes_no_turns" not in willing.log_text()

    (lacking.state_dir / ".env").write_text(f"{KEY}=k\n")
    change(fleet, engine={"namespace": "ocw", "leaseSeconds": 4.0, "maxSteps": 50})  # variables are read with it
    eventually(lambda: "worker.takes_turns" in other.log_text(), within=60)


def test_up_says_that_its_workers_take_no_turns(fleet: Fleet) -> None:
    fleet.worker(BOX_KEY="k")
    lacking = OtherHost(fleet)

    up = lacking.ocw("up", "--detach", "--no-flower", "--no-ingress", "--json", within=120)
    findings = lacking.ocw("doctor", "--no-probe", "--json").json["findings"]
    assert lacking.ocw("down").code == 0

    assert up.json["refusals"] == [f"it lacks secrets that other workers have: {KEY}"], up.err
    (drift,) = [each for each in findings if each["check"] == "drift"]
    assert drift["state"] == "error"
    assert drift["message"].endswith(f" lacks {KEY}")
    assert drift["fix"] == "add it to .env of the state directory there, then restart its workers"


def test_a_worker_that_cannot_read_a_version_takes_no_turns_until_one_can_be_read(fleet: Fleet) -> None:
    worker = fleet.worker(BOX_KEY="k")
    configs = Configs(fleet.stores.redis, fleet.stores.keys)
    current = configs.current()
    assert current is not None
    newer = {**current.document.tree, "fromTheFuture": {"a": 1}}
    configs.publish(ConfigDocument(1, newer, "w", {}, at=1, by="x@y", code="99.0"), "newer", expected=ANY_VERSION)
    eventually(lambda: "worker.takes_no_turns" in worker.log_text(), within=60)

    queued = fleet.send("hi")
    status = ("--local-config", "status", "--json")
    eventually(lambda: "cannot read configuration 2" in Ocw(fleet)(*status).out, within=30)
    assert Ocw(fleet)("config", "rollback", "1").code == 0

    assert fleet.outcome(queued, within=90).text == "I am first", fleet.logs()


def test_what_needs_a_restart_is_named_and_shown_as_pending(fleet: Fleet) -> None:
    worker = fleet.worker(BOX_KEY="k")

    answer = change(fleet, lanes={"main": {"concurrency": 9}, **LANES})

    assert answer["restart"] == ["lanes.main.concurrency"]
    use(fleet, 2)
    (shown,) = workers_of(fleet)
    assert shown["restartPending"] == ["lanes.main.concurrency"]
    assert "only after a restart: lanes.main.concurrency" in Ocw(fleet)("status").out
    assert worker.is_running()


def test_prefork_workers_follow_too(fleet: Fleet) -> None:
    fleet.worker(pool="prefork", concurrency=2, BOX_KEY="k")

    change(fleet, agents={"defaults": answers_with("box/second")})
    use(fleet, 2)

    assert fleet.outcome(fleet.send("hi"), within=90).text == "I am second"


def _engine_pid(fleet: Fleet, worker: WorkerProcess) -> int:
    assert fleet.workers
    return worker.pid
