"""Workers and `ocw status` report Redis settings that break promises."""

from __future__ import annotations

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.waiting import eventually

WARNING = "redis.unsafe_setting"


def test_a_safe_redis_causes_no_warning(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    assert ocw_cli("status", "--json").json["unsafeSettings"] == {}
    assert "Redis has" not in ocw_cli("status").out
    assert WARNING not in live_fleet.workers[0].log_text()


def test_workers_and_status_name_unsafe_settings(bare_fleet: Fleet) -> None:
    redis, ocw = bare_fleet.stores.redis, Ocw(bare_fleet)
    redis.config_set("maxmemory-policy", "allkeys-lru")
    redis.config_set("appendfsync", "everysec")
    worker = bare_fleet.worker()

    eventually(lambda: worker.log_text().count(WARNING) == 2, within=20)
    log, text = worker.log_text(), ocw("status").out
    for line in ("allkeys-lru: a full Redis deletes accepted messages", "everysec: a killed Redis may lose messages"):
        assert line in log
        assert line in text
    redis.config_set("appendonly", "no")
    unsafe = ocw("status", "--json").json["unsafeSettings"]
    assert unsafe.keys() == {"maxmemory-policy", "appendonly"}
    assert "loses accepted messages" in unsafe["appendonly"]


def test_workers_run_if_redis_refuses_config_get(bare_fleet: Fleet) -> None:
    redis = bare_fleet.stores.redis
    redis.config_set("appendfsync", "everysec")
    redis.acl_setuser("default", enabled=True, nopass=True, commands=["-config"], reset=False)
    assert Ocw(bare_fleet)("status", "--json").json["unsafeSettings"] == {}
    redis.acl_setuser("default", enabled=True, nopass=True, commands=["-info"], reset=False)

    assert Ocw(bare_fleet)("status", "--json").json["unsafeSettings"] == {}
