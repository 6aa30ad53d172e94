"""Keys that are in cooldown for a while, by the whole fleet."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from openclaw_workers.errors import FailureReason
from openclaw_workers.store.llm import cooldowns
from openclaw_workers.store.llm.cooldowns import HOUR, JITTER_THOUSANDTHS, MINUTE, Cooldowns
from tests.component.store.harness import StoreHarness

NAME = "anthropic/main"


@pytest.fixture
def health(store: StoreHarness) -> Cooldowns:
    return Cooldowns(store.redis, store.keys)


def pause_of(health: Cooldowns, name: str = NAME) -> int:
    states, now = health.states([name])
    return max(0, states[name].until - now)


def about(pause_ms: int, wanted_ms: int) -> bool:
    return wanted_ms - 2_000 <= pause_ms <= wanted_ms * (1 + JITTER_THOUSANDTHS / 1000)


def end_pause(store: StoreHarness, reason: FailureReason = FailureReason.RATE_LIMIT) -> None:
    store.redis.hset(store.keys.cooldown(NAME), f"until_{reason}", store.now() - 1)


def reason_of(health: Cooldowns) -> FailureReason | None:
    return health.states([NAME])[0][NAME].reason


def test_a_key_nobody_complained_of_may_be_used(health: Cooldowns) -> None:
    states, _ = health.states([NAME, "openai/x"])
    assert [state.until for state in states.values()] == [0, 0]


@pytest.mark.parametrize(
    ("reason", "first_ms"),
    [
        (FailureReason.RATE_LIMIT, 5 * MINUTE),
        (FailureReason.AUTH, 5 * MINUTE),
        (FailureReason.TIMEOUT, MINUTE // 2),
        (FailureReason.BILLING, 5 * HOUR),
        (FailureReason.AUTH_PERMANENT, 24 * HOUR),
        (FailureReason.FORMAT, 0),
        (FailureReason.MODEL_NOT_FOUND, 0),
        (FailureReason.CONTEXT_OVERFLOW, 0),
    ],
)
def test_a_failure_pauses_the_key_by_its_reason(health: Cooldowns, reason: FailureReason, first_ms: int) -> None:
    health.failed(NAME, "call-1", reason)
    assert about(pause_of(health), first_ms) if first_ms else pause_of(health) == 0


def test_the_providers_own_wish_goes_before_ours(health: Cooldowns) -> None:
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT, retry_after_ms=7_000)
    assert about(pause_of(health), 7_000)


def test_a_burst_is_one_failure_and_a_later_one_doubles_the_pause(health: Cooldowns, store: StoreHarness) -> None:
    for number in range(5):
        health.failed(NAME, f"call-{number}", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), 5 * MINUTE)

    end_pause(store)
    health.failed(NAME, "call-9", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), 10 * MINUTE)


def test_a_failure_that_is_reported_twice_is_one(health: Cooldowns, store: StoreHarness) -> None:
    """Rule 13: the first answer may have been lost on its way."""
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT)
    end_pause(store)
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT)
    assert pause_of(health) == 0


def test_the_pause_has_an_end_to_its_growth(health: Cooldowns, store: StoreHarness) -> None:
    for number in range(9):
        end_pause(store)
        health.failed(NAME, f"call-{number}", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), HOUR)


def test_a_failure_long_after_the_last_pause_is_a_first_one(health: Cooldowns, store: StoreHarness) -> None:
    for hours, wanted_hours in ((0, 5), (23, 10), (25, 5)):
        store.redis.hset(store.keys.cooldown(NAME), "until_billing", store.now() - hours * HOUR)
        health.failed(NAME, f"call-{hours}", FailureReason.BILLING)
        assert about(pause_of(health), wanted_hours * HOUR), hours


def test_a_success_ends_the_pause_and_its_history(health: Cooldowns) -> None:
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT)
    health.succeeded(NAME, "call-2", took_ms=0)
    assert pause_of(health) == 0
    health.failed(NAME, "call-3", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), 5 * MINUTE)


@pytest.mark.parametrize("reason", [FailureReason.RATE_LIMIT, FailureReason.BILLING])
def test_a_success_says_nothing_of_a_failure_after_its_call_began(health: Cooldowns, reason: FailureReason) -> None:
    health.failed(NAME, "call-1", reason)
    before = pause_of(health)
    health.succeeded(NAME, "call-2", took_ms=60_000)
    assert 0 <= before - pause_of(health) < 2_000
    assert reason_of(health) is reason


def test_failures_of_one_kind_do_not_lengthen_the_pause_of_another(health: Cooldowns, store: StoreHarness) -> None:
    for number in range(3):
        health.failed(NAME, f"call-{number}", FailureReason.TIMEOUT)
        end_pause(store, FailureReason.TIMEOUT)
    health.failed(NAME, "call-9", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), 5 * MINUTE)


def test_a_small_failure_does_not_hide_one_for_good(health: Cooldowns) -> None:
    health.failed(NAME, "call-1", FailureReason.BILLING)
    health.failed(NAME, "call-2", FailureReason.TIMEOUT)
    assert (reason_of(health), about(pause_of(health), 5 * HOUR)) == (FailureReason.BILLING, True)


def test_a_larger_failure_within_a_small_pause_has_its_own(health: Cooldowns) -> None:
    health.failed(NAME, "call-1", FailureReason.TIMEOUT)
    health.failed(NAME, "call-2", FailureReason.RATE_LIMIT)
    assert (reason_of(health), about(pause_of(health), 5 * MINUTE)) == (FailureReason.RATE_LIMIT, True)


def test_a_probe_that_fails_does_not_restart_the_cooldown(health: Cooldowns, store: StoreHarness) -> None:
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT)
    store.redis.hset(store.keys.cooldown(NAME), "until_rate_limit", store.now() + 10_000)
    health.failed(NAME, "probe", FailureReason.RATE_LIMIT)
    assert pause_of(health) <= 10_000

    health.failed(NAME, "another", FailureReason.RATE_LIMIT, retry_after_ms=60_000)
    assert about(pause_of(health), MINUTE), "unless the provider asks for it"


def test_one_worker_at_a_time_tries_a_key_that_is_left_alone(health: Cooldowns) -> None:
    assert health.may_probe(NAME)
    assert not health.may_probe(NAME)
    assert health.may_probe("openai/x")


@pytest.mark.parametrize("value", ["soon", "", "-5", "1e400"])
def test_what_cannot_be_read_is_as_if_it_were_not_there(
    health: Cooldowns, store: StoreHarness, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    # A logger that was used before keeps the settings of that time, for example those of a command in another test.
    monkeypatch.setattr(cooldowns, "log", structlog.get_logger())
    store.redis.hset(store.keys.cooldown(NAME), "until_rate_limit", value)
    store.redis.hset(store.keys.cooldown(NAME), "until_mystery", "9" * 13)
    with capture_logs() as logs:
        assert pause_of(health) == 0
    assert [(line["event"], line["key"]) for line in logs] == [("health.unreadable", NAME)]
    health.failed(NAME, "call-1", FailureReason.RATE_LIMIT)
    assert about(pause_of(health), 5 * MINUTE)
