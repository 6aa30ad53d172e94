"""Before a worker reports ready, it loads the SDKs of its models, and no others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet, WorkerProcess

WIRED = {"baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "apiKey": "k", "models": [{"id": "m"}]}
REMOTE = {"models": {"providers": {"wired": WIRED}}, "agents": {"defaults": {"model": "wired/m"}}}
OFFLINE = {"agents": {"defaults": {"model": "offline/demo"}}}


def has_loaded_an_sdk(worker: WorkerProcess) -> bool:
    """Only Anthropic's SDK loads this library."""
    return "jiter" in Path(f"/proc/{worker.pid}/maps").read_text()


def cold_worker(fleet: Fleet, **options: Any) -> WorkerProcess:
    """A worker in a fresh process; forks of the test processes have all SDKs loaded."""
    return fleet.worker(PYTHONPATH=os.pathsep.join([str(fleet.directory), os.environ.get("PYTHONPATH", "")]), **options)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_the_sdk_of_a_configured_model_is_loaded_before_a_worker_is_ready(tmp_path: Path, pool: str) -> None:
    with Fleet(tmp_path / "fleet", REMOTE) as fleet:
        worker = cold_worker(fleet, pool=pool, concurrency=1)
        assert has_loaded_an_sdk(worker)
        log = worker.log_text()
        assert log.index("models.loaded") < log.index("worker.ready")


def test_a_worker_without_remote_models_loads_no_sdk(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", OFFLINE) as fleet:
        assert not has_loaded_an_sdk(cold_worker(fleet))
        assert fleet.outcome(fleet.send("hello")).text


def test_the_service_lane_asks_no_models_and_loads_no_sdk(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", REMOTE) as fleet:
        assert not has_loaded_an_sdk(cold_worker(fleet, lane="service"))
