"""The fleet's configuration in versions, and what workers learn of it with each tick."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.configs import NO_VERSION, VERSIONS_KEPT, ConfigDocument, Configs
from tests.component.store.harness import StoreHarness

FIRST = ConfigDocument(
    schema=1,
    tree={"engine": {"maxSteps": 7}, "tools": {"deny": [], "note": "ünïcode ${KEY}"}},
    written="w",
    decided={"agents.defaults.userTimezone": "host"},
    at=5,
    by="me@here",
    code="1.0",
)


@pytest.fixture
def configs(store: StoreHarness) -> Configs:
    return Configs(store.redis, store.keys)


def test_there_is_none_at_first(configs: Configs) -> None:
    assert configs.current() is None
    assert configs.history() == []


def test_a_published_one_is_read_as_it_was_written(configs: Configs) -> None:
    published = configs.publish(FIRST, "d1", expected=NO_VERSION)

    assert (published.number, published.is_new, published.is_refused) == (1, True, False)
    current = configs.current()
    assert current is not None
    assert current.document == FIRST
    assert current.id == published.id == "1-d1"


def test_the_same_settings_again_are_no_new_version(configs: Configs) -> None:
    configs.publish(FIRST, "d1")

    again = configs.publish(replace(FIRST, at=9), "d1", expected=NO_VERSION)

    assert (again.number, again.is_new, again.is_refused) == (1, False, False)


def test_one_that_was_made_from_an_older_version_is_refused(configs: Configs) -> None:
    configs.publish(FIRST, "d1", expected=NO_VERSION)
    configs.publish(FIRST, "d2", expected=1)

    late = configs.publish(FIRST, "d3", expected=1)
    second_first = configs.publish(FIRST, "d4", expected=NO_VERSION)

    assert late.is_refused
    assert second_first.is_refused
    assert [each.number for each in configs.history()] == [2, 1]


def test_only_the_newest_versions_are_kept(configs: Configs) -> None:
    for number in range(VERSIONS_KEPT + 2):
        configs.publish(FIRST, f"d{number}")

    assert [each.number for each in configs.history()] == list(range(VERSIONS_KEPT + 2, 2, -1))
    assert configs.version(1) is None


def test_a_document_of_a_newer_program_is_read_and_a_damaged_one_reported(
    configs: Configs, store: StoreHarness
) -> None:
    published = configs.publish(FIRST, "d1")
    raw = str(store.redis.hget(store.keys.config, "document"))
    store.redis.hset(store.keys.config, "document", raw.replace('"schema": 1', '"schema": 9, "later": 1'))
    newer = configs.current()
    assert newer is not None
    assert newer.document == replace(FIRST, schema=9)

    store.redis.hset(store.keys.config, "document", "{")
    with pytest.raises(CorruptRecord, match=f"configuration {published.number}"):
        configs.current()


def test_a_tick_tells_the_version_in_force_and_the_secrets_of_live_workers(
    configs: Configs, store: StoreHarness
) -> None:
    one, two = WorkerId("a/1/x"), WorkerId("b/1/x")
    assert store.leases.tick(one, {}, []).config == ""
    configs.publish(FIRST, "d1")

    store.leases.tick(one, {}, [], ["KEY", "OTHER"])
    ticked: Any = store.leases.tick(two, {}, [], [])

    assert ticked.config == "1-d1"
    assert ticked.secrets_held == {"KEY", "OTHER"}


def test_a_secret_is_forgotten_with_the_last_worker_that_had_it(store: StoreHarness) -> None:
    worker = WorkerId("a/1/x")
    store.leases.tick(worker, {}, [], ["KEY", "AHEAD"])
    store.redis.zincrby(store.keys.secrets_held, -16_000, "KEY")
    store.redis.zincrby(store.keys.secrets_held, 60_000, "AHEAD")  # the clock stepped back since

    assert store.leases.tick(worker, {}, []).secrets_held == frozenset()
