"""Each finding of `ocw doctor` says what is wrong, and what fixes it."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.views.findings import (
    Finding,
    damage_findings,
    drift_findings,
    is_well,
    key_findings,
    machine_findings,
    place_findings,
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
WORKER: dict[str, Any] = {
    "id": "h/1/a",
    "host": "h",
    "pid": 1,
    "lane": "main",
    "draining": False,
    "alive": True,
    "configVersion": 4,
    "localConfig": False,
    "codeVersion": "0.1.0",
    "missing": [],
    "refusal": None,
    "restartPending": [],
}
PAUSED = {"provider": "openai", "profile": "work", "paused": True, "reason": "billing", "leftMs": 60_000}
NO_MODELS: dict[str, Any] = {"default": "openai/gpt", "models": []}


def bad(found: list[Finding]) -> list[tuple[str, str, str]]:
    return [(each.check, each.state, each.fix) for each in found if each.state != "ok"]


def test_a_setting_that_loses_messages_comes_with_its_command() -> None:
    why = "no: a Redis that stops loses accepted messages; set yes, and appendfsync to always"
    found = list(redis_findings({**STATUS, "unsafeSettings": {"appendonly": why}}))
    fix = 'redis-cli -u "$REDIS_URL" CONFIG SET appendonly yes, then CONFIG REWRITE to keep it'
    assert bad(found) == [("redis", "warning", fix)]
    assert bad(list(redis_findings(STATUS))) == []


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({}, []),
        ({"lanes": [{**LANE, "workers": 0}]}, [("lanes", "error", "ocw up, or ocw worker --lane main")]),
        (
            {"lanes": [{**LANE, "oldestWaitingAt": 900_000}]},
            [("lanes", "warning", "ocw worker --lane main, for more of it at once")],
        ),
        (
            {"workers": [{"id": "h/1/a", "host": "h", "lane": "main", "alive": False}]},
            [("workers", "warning", "ocw logs --process worker-main on h says why")],
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


@pytest.mark.parametrize(
    ("change", "state", "message", "fix"),
    [
        ({"configVersion": 3}, "warning", "h/1 still uses configuration 3; 4 is in force", "ocw logs on h says why"),
        ({"localConfig": True}, "warning", "h/1 uses a file of its host", "start it without --local-config"),
        (
            {"refusal": "it cannot read version 4"},
            "error",
            "h/1 takes no turns: it cannot read version 4",
            "update OpenClaw Workers on h, or ocw config rollback",
        ),
        (
            {"restartPending": ["worker.pool"]},
            "warning",
            "h/1 uses these only after a restart: worker.pool",
            "ocw down and ocw up on h, or restart its service",
        ),
        ({"missing": ["OPENAI_API_KEY"]}, "error", "h lacks OPENAI_API_KEY", "add it to .env of the state directory"),
    ],
)
def test_a_worker_that_differs_from_the_fleet_is_named(
    change: dict[str, Any], state: str, message: str, fix: str
) -> None:
    status = {**STATUS, "configuration": {"version": 4}, "workers": [{**WORKER, **change}]}
    (found,) = drift_findings(status)
    assert (found.check, found.state) == ("drift", state)
    assert found.message.startswith(message)
    assert found.fix.startswith(fix)


@pytest.mark.parametrize("change", [{"refusal": "it lacks KEY"}, {"draining": True}])
def test_a_lane_whose_workers_take_no_turns_is_no_lane_that_works(change: dict[str, Any]) -> None:
    assert [each[:2] for each in bad(list(worker_findings({**STATUS, "workers": [WORKER | change]})))] == [
        ("lanes", "error")
    ]
    assert bad(list(worker_findings({**STATUS, "workers": [WORKER | change, WORKER]}))) == []


def test_a_drained_lane_comes_with_the_command_that_undrains_its_host() -> None:
    (found,) = [each for each in worker_findings({**STATUS, "workers": [WORKER | {"draining": True}]}) if each.fix]
    assert found.fix == "ocw undrain h"


def test_workers_of_two_versions_are_named() -> None:
    workers = [WORKER, {**WORKER, "host": "g", "codeVersion": "0.2.0"}, {**WORKER, "alive": False, "codeVersion": "0"}]
    (found,) = drift_findings({**STATUS, "configuration": {"version": 4}, "workers": workers})
    assert (found.state, found.message) == ("warning", "workers run different versions: 0.1.0 on h, 0.2.0 on g")
    assert found.fix == "update OpenClaw Workers on h"


def test_a_fleet_that_agrees_has_no_drift() -> None:
    (found,) = drift_findings({**STATUS, "configuration": {"version": 4}, "workers": [WORKER, WORKER]})
    assert (found.check, found.state) == ("drift", "ok")


def test_a_key_that_was_refused_needs_another_one() -> None:
    (found,) = key_findings({"profiles": [{**PAUSED, "reason": "auth"}]}, NO_MODELS)
    assert found.fix == "ocw init sets another key; ocw models resume openai/work tries this one again"


def test_a_paused_key_a_missing_key_and_the_offline_model_are_named() -> None:
    assert bad(list(key_findings({"profiles": [PAUSED]}, NO_MODELS))) == [
        ("keys", "warning", "ocw models resume openai/work")
    ]
    missing = {"model": "openai/gpt", "agents": ["main"], "hasKey": False}
    found = list(key_findings({"profiles": []}, {"default": "openai/gpt", "models": [missing]}))
    assert bad(found) == [("keys", "error", "ocw init, or set OPENAI_API_KEY")]
    assert not is_well(found)
    assert bad(list(key_findings({"profiles": []}, {"default": "offline/demo", "models": []})))[0][1] == "warning"


def test_a_full_disk_a_wrong_clock_and_damage_are_named() -> None:
    assert bad(list(machine_findings(1 << 40, "/state", 10))) == []
    assert [each[:2] for each in bad(list(machine_findings(1 << 20, "/state", -60_000)))] == [
        ("disk", "error"),
        ("clock", "warning"),
    ]
    assert bad(list(damage_findings({"damaged": [{}]}))) == [("records", "warning", "ocw status --damaged")]


@pytest.mark.parametrize(("draining", "first"), [(True, "ocw undrain h"), (False, "ocw up there")])
def test_files_on_a_drained_host_come_with_the_command_that_undrains_it(draining: bool, first: str) -> None:
    place = {"agentId": "main", "where": "h:/work", "moving": False, "served": False, "hostsWithout": []}
    found = list(place_findings({**STATUS, "places": [place], "workers": [{**WORKER, "draining": draining}]}))
    assert bad(found) == [("places", "error", f"{first}, or ocw agents move main --to HOST")]
