"""An ingress uses a new version of the configuration without a restart, at the same address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.fleet import Fleet
from tests.support.ingress import Api, new_token, start_ingress
from tests.support.waiting import eventually


def test_a_new_version_is_served_at_the_same_address_by_the_same_process(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet") as fleet:
        ingress = start_ingress(fleet)
        api = Api(ingress.url, new_token(fleet))

        def main_key() -> Any:
            return api.get("/config", prefix="session.mainKey")["values"][0]["value"]

        assert main_key() == "main"
        config = yaml.safe_load(fleet.config_path.read_text())
        fleet.config_path.write_text(yaml.safe_dump({**config, "session": {"mainKey": "other"}}))
        fleet.apply_config()

        eventually(lambda: main_key() == "other", within=60)
        assert ingress.process.is_running()
        assert [each["configVersion"] for each in api.get("/status")["ingress"]["processes"]][-1] == 2
        assert "ingress.reloading" in ingress.process.log_text()
