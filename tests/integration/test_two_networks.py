"""Two hosts with networks, names and directories of their own on one Redis: one configuration for both."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from openclaw_workers.domain.runs import RunState
from tests.integration.test_configuration import answers_with, boxed, use, workers_of
from tests.support.fleet import Fleet
from tests.support.hosts import OtherHost
from tests.support.networks import network
from tests.support.ocw import Ocw
from tests.support.wire import Reply, WireServer


@pytest.mark.needs("networks")
def test_both_answer_with_the_same_model_before_and_after_a_change_under_load(tmp_path: Path) -> None:
    with (
        network() as joined,
        WireServer(answer=lambda request: Reply(f"I am {request.body['model']}"), address=joined.address) as server,
        Fleet(tmp_path / "fleet", boxed(server), addresses=("127.0.0.1", joined.address)) as fleet,
    ):
        ocw = Ocw(fleet)
        assert ocw("config", "apply").code == 0
        url = f"redis://{joined.address}:{fleet.redis_server.port}/0"
        for name in ("host-a", "host-b"):
            OtherHost(fleet, name, prefix=joined.host(name), REDIS_URL=url, BOX_KEY=f"k-{name}").worker(wait=False)
        fleet.ready(*fleet.workers, within=90)

        sent = [fleet.send("hi", f"before-{index}") for index in range(20)]
        config = yaml.safe_load(fleet.config_path.read_text())
        fleet.config_path.write_text(yaml.safe_dump({**config, "agents": {"defaults": answers_with("box/second")}}))
        assert ocw("config", "apply").code == 0
        sent += [fleet.send("hi", f"during-{index}") for index in range(20)]
        use(fleet, 2)
        after = fleet.outcomes([fleet.send("hi", f"after-{index}") for index in range(10)], within=90)

        assert all(each.run and each.run.state is RunState.OK for each in fleet.outcomes(sent, within=90)), fleet.logs()
        assert {outcome.text for outcome in after} == {"I am second"}
        assert {(each["host"], each["configVersion"]) for each in workers_of(fleet)} == {("host-a", 2), ("host-b", 2)}
        keys = {request.headers["authorization"].removeprefix("Bearer ") for request in server.requests}
        assert keys == {"k-host-a", "k-host-b"}

        assert ocw("config", "rollback").code == 0
        use(fleet, 3)
        assert fleet.outcome(fleet.send("hi", "again"), within=90).text == "I am first"
