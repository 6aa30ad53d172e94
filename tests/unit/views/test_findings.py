"""Each finding of `ocw doctor` says what is wrong, and what fixes it."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.views.findings import (
    Finding,
    configuration_findings,
    damage_findings,
    is_well,
    key_findings,
    machine_findings,
    redis_findings,
    worker_findings,
)

LANE = {"lane": "main", "workers": 1, "oldestWaitingAt": None}
STATUS: dict[str, Any] = {
    "at": 1_000_000,
    "unsafeSettings": {},
    "lanes": [LANE],
    "workers": [],
    "blockedResults": [],
    "ingress": {"url": "http://127.0.0.1:18789"},
}
PAUSED = {"provider": "openai", "profile": "work", "paused": True, "reason": "billing", "leftMs": 60_000}
NO_MODELS: dict[str, Any] = {"default": "openai/gpt", "models": []}


def bad(found: list[Finding]) -> list[tuple[str, str, str]]:
    return [(each.check, each.state, each.fix) for each in found if each.state != "ok"]


def test_a_setting_that_loses_messages_comes_with_its_command() -> None:
    why = "no: a Redis that stops loses accepted messages; set yes, and appendfsync to always"
    found = list(redis_findings({**STATUS, "unsafeSettings": {"appendonly": why}}))
    assert bad(found) == [("redis", "warning", "redis-cli CONFIG SET appendonly yes")]
    assert bad(list(redis_findings(STATUS))) == []


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({}, []),
        ({"lanes": [{**LANE, "workers": 0}]}, [("lanes", "error", "ocw up, or ocw worker --lane main")]),
        ({"lanes": [{**LANE, "oldestWaitingAt": 900_000}]}, [("lanes", "warning", "start more workers")]),
        (
            {"workers": [{"id": "h/1/a", "host": "h", "lane": "main", "alive": False}]},
            [("workers", "warning", "see its log on h")],
        ),
        (
            {"blockedResults": [{"batch": "batch-1", "sessionKey": "agent:main:main"}]},
            [("results", "warning", "ocw subagents retry batch-1")],
        ),
        ({"ingress": {"url": None}}, [("ingress", "warning", "ocw up, or ocw ingress")]),
    ],
)
def test_what_is_wrong_with_workers(change: dict[str, Any], finding: list[tuple[str, str, str]]) -> None:
    assert bad(list(worker_findings({**STATUS, **change}))) == finding


WORKER: dict[str, Any] = {
    "host": "b",
    "pid": 7,
    "lane": "main",
    "alive": True,
    "draining": False,
    "refusal": None,
    "missing": [],
    "restartPending": [],
    "localConfig": False,
}


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        ({"refusal": "it lacks KEY", "missing": ["KEY"]}, "write KEY into .env of its state directory"),
        ({"refusal": "it cannot read configuration 4"}, "update it, or ocw config rollback"),
        ({"restartPending": ["lanes.main.concurrency"]}, "restart it"),
        ({"localConfig": True}, "start it without --local-config"),
    ],
)
def test_a_worker_that_does_not_use_the_configuration_is_named(change: dict[str, Any], fix: str) -> None:
    status = {**STATUS, "workers": [WORKER | change]}
    (found,) = configuration_findings(status)
    assert (found.state, found.message[:4], found.fix[: len(fix)]) == ("warning", "b/7 ", fix)
    assert list(configuration_findings({**STATUS, "workers": [WORKER, WORKER | change | {"alive": False}]})) == []


@pytest.mark.parametrize("change", [{"refusal": "it lacks KEY"}, {"draining": True}])
def test_a_lane_whose_workers_take_no_turns_is_no_lane_that_works(change: dict[str, Any]) -> None:
    assert [each[:2] for each in bad(list(worker_findings({**STATUS, "workers": [WORKER | change]})))] == [
        ("lanes", "error")
    ]
    assert bad(list(worker_findings({**STATUS, "workers": [WORKER | change, WORKER]}))) == []


def test_a_paused_key_a_missing_key_and_the_offline_model_are_named() -> None:
    assert bad(list(key_findings({"profiles": [PAUSED]}, NO_MODELS))) == [
        ("keys", "warning", "ocw models resume openai/work")
    ]
    missing = {"model": "openai/gpt", "agents": ["main"], "hasKey": False}
    found = list(key_findings({"profiles": []}, {"default": "openai/gpt", "models": [missing]}))
    assert bad(found) == [("keys", "error", "set models.providers.openai.apiKey, or OPENAI_API_KEY")]
    assert not is_well(found)
    assert bad(list(key_findings({"profiles": []}, {"default": "offline/demo", "models": []})))[0][1] == "warning"


def test_a_full_disk_a_wrong_clock_and_damage_are_named() -> None:
    assert bad(list(machine_findings(1 << 40, "/state", 10))) == []
    assert [each[:2] for each in bad(list(machine_findings(1 << 20, "/state", -60_000)))] == [
        ("disk", "error"),
        ("clock", "warning"),
    ]
    assert bad(list(damage_findings({"damaged": [{}]}))) == [("records", "warning", "ocw status --damaged")]
