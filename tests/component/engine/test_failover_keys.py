"""Keys and cooldowns: which key is used, and what is done while keys are in cooldown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.runs import Lane
from openclaw_workers.errors import BadInput, ProviderError
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.store.llm.cooldowns import JITTER_THOUSANDTHS, MINUTE
from tests.component.engine.conftest import CLI, SESSION, MakeEngine
from tests.component.engine.wire_harness import WireHarness, wire_engine
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def sessions(count: int) -> list[str]:
    return [f"agent:main:s{number}" for number in range(count)]


def test_without_an_order_keys_are_used_in_turn(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    assert [wired.turn(session=session).text for session in sessions(4)] == ["a1:m", "a2:m", "a1:m", "a2:m"]


def test_with_an_order_the_first_is_used_while_it_may_be(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, a={"authOrder": ["a2", "a1"]})
    assert [wired.turn(session=session).text for session in sessions(2)] == ["a2:m", "a2:m"]
    wired.plan("a2:m", Failure(429, "slow down"))
    assert wired.turn(session="agent:main:next").text == "a1:m"
    wired.asked()
    assert wired.turn(session="agent:main:last").text == "a1:m"
    assert wired.asked() == ["a1:m"]


def test_a_session_stays_with_the_key_that_served_it(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    first, second = sessions(2)
    assert [wired.turn(session=session).text for session in (first, second)] == ["a1:m", "a2:m"]
    assert [wired.turn(session=session).text for session in (second, second, first)] == ["a2:m", "a2:m", "a1:m"]
    wired.plan("a1:m", Failure(429, "slow down"))
    assert [wired.turn(session=first).text for _ in range(2)] == ["a2:m", "a2:m"], "until it fails"


@pytest.mark.parametrize("how", ["/new", "reset", "stale", "/compact"])
def test_a_conversation_that_is_reset_goes_on_to_the_next_key(
    make_engine: MakeEngine, server: WireServer, how: str
) -> None:
    wired = wire_engine(make_engine, server)
    stores = wired.engine.stores
    assert [wired.turn("x" * 400).text for _ in range(3)] == ["a1:m"] * 3
    if how.startswith("/"):
        wired.turn(how)
    elif how == "reset":
        stores.sessions.reset(SESSION, Lane.MAIN, cap=0)
    else:
        long_ago = int(stores.redis.time()[0] - 7 * 86_400) * 1000
        stores.redis.hset(stores.keys.row(SESSION), mapping=dict.fromkeys(("lastInteractionAt", "updatedAt"), long_ago))
    assert wired.turn().text == "a2:m"


def test_one_key_serves_all_calls_of_a_turn(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Reply(calls=[Called("read", {"path": "x"})]), Reply(calls=[Called("read", {"path": "y"})]))
    wired.turn()
    assert wired.asked() == ["a1:m"] * 3


def command(wired: WireHarness, text: str, authority: Authority = Authority.OWNER) -> str:
    answered = wired.engine.intake.accept(text, session=SESSION, route=CLI, authority=authority)
    assert isinstance(answered, Answered)
    return answered.text


def test_a_pinned_key_serves_a_session_alone(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    assert wired.turn().text == "a1:m"
    assert command(wired, "/model a/m@a2") == "Model set: a/m, key a/a2."
    assert "key     a/a2 (pinned)" in command(wired, "/status")
    assert command(wired, "/model").startswith("Model: a/m, key a/a2.")
    assert [wired.turn().text for _ in range(2)] == ["a2:m"] * 2

    # When it fails, another model is asked, by the keys of its own provider, and no other key of this one
    wired.plan("a2:m", Failure(402, "no money"))
    wired.asked()
    assert wired.turn().text == "b1:m"
    assert wired.asked() == ["a2:m", "b1:m"]

    # A reset keeps it, and a model without a key ends it
    wired.engine.stores.sessions.reset(SESSION, Lane.MAIN, cap=0)
    assert wired.turn().text == "b1:m"
    command(wired, "/model a/m")
    assert wired.turn().text == "a1:m"


def test_only_owners_pin_keys_and_only_those_that_exist(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.turn()
    with pytest.raises(BadInput, match="only an owner"):
        command(wired, "/model a/m@a2", Authority.AUTHORIZED)
    with pytest.raises(BadInput, match="no key profile 'nobody'; expected provider/profile: a/a1, a/a2"):
        command(wired, "/model a/m@nobody")
    assert "authProfilePin" not in wired.engine.stores.reader.row(SESSION)
    command(wired, "/model a/m@a2")
    command(wired, "/model a/n", Authority.AUTHORIZED)
    assert wired.turn().text == "a2:n", "who may not choose a key does not end a pin either"


def test_no_other_key_is_used_in_place_of_a_pinned_one_that_is_gone(
    make_engine: MakeEngine, server: WireServer
) -> None:
    wired = wire_engine(make_engine, server, model="a/m")
    wired.turn()
    wired.engine.stores.sessions.patch(SESSION, {"authProfilePin": "a/main:gone"})
    wired.asked()
    run = wired.turn()
    assert (run.state, run.reason, wired.asked()) == ("error", Why.AUTH, [])
    assert "pinned to the key a/main:gone, which is not configured" in (run.error or "")


# The article's decision table (004, 4.6).


def test_attempt_while_one_key_is_usable(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.cool("a/a1")
    run = wired.turn()
    assert (run.text, run.model_attempts, wired.asked()) == ("a2:m", [], ["a2:m"])


@pytest.mark.parametrize("reason", [Why.BILLING, Why.AUTH_PERMANENT])
def test_skip_what_failed_for_good(make_engine: MakeEngine, server: WireServer, reason: Why) -> None:
    wired = wire_engine(make_engine, server)
    wired.cool("a/a1", "a/a2", reason=reason)
    run = wired.turn()
    assert (run.text, wired.asked()) == ("b1:m", ["b1:m"])
    assert [(each.model, each.reason, each.skipped) for each in run.model_attempts] == [
        ("a/m", reason, True),
        ("a/n", reason, True),
    ]


def test_probe_the_model_that_was_asked_for_one_at_a_time(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.cool("a/a1", "a/a2")
    wired.plan("a1:m", Failure(429, "still"))
    wired.plan("a2:m", Failure(429, "still"))
    first, second, third = sessions(3)
    assert wired.turn(session=first).text == "b1:m"
    assert wired.asked() == ["a1:m", "a2:m", "b1:m"], "each key is probed"
    assert wired.turn(session=second).text == "b1:m"
    assert wired.asked() == ["b1:m"], "but not by the next turn"

    redis, keys = wired.engine.stores.redis, wired.engine.stores.keys
    redis.delete(keys.probe(wired.known_as("a/a1")), keys.probe(wired.known_as("a/a2")))  # as after half a minute
    assert wired.turn(session=third).text == "a1:m"
    assert wired.pause_ms("a/a1") == 0, "a probe that is answered ends the pause"


def test_a_probe_passes_over_keys_that_failed_for_good(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.cool("a/a1", reason=Why.BILLING)
    wired.cool("a/a2", reason=Why.RATE_LIMIT)
    assert wired.turn().text == "a2:m"


def test_skip_fallbacks_that_are_left_alone(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model={"primary": "a/m", "fallbacks": ["b/m"]})
    wired.cool("b/b1")
    for key in ("a1:m", "a2:m"):
        wired.plan(key, Failure(402, "no money"))
    run = wired.turn()
    assert (run.state, wired.asked()) == ("error", ["a1:m", "a2:m"])
    assert run.error is not None
    assert "b/m: provider b is in cooldown after a failure (rate_limit), for another 5 min" in run.error


def test_all_keys_in_cooldown_is_reported_with_its_reason(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model="b/m")
    wired.cool("b/b1", reason=Why.BILLING)
    run = wired.turn()
    assert (run.state, run.reason, wired.asked()) == ("error", Why.BILLING, [])


@pytest.mark.parametrize("what", ["apiKey", "baseUrl", "headers"])
def test_what_was_wrong_with_a_key_says_nothing_of_another_in_its_place(
    make_engine: MakeEngine, server: WireServer, what: str
) -> None:
    """A key was mistyped, or sent to the wrong server; whoever has mended that does not wait for a day."""
    wrong: dict[str, Any] = {"baseUrl": server.openai_url, "apiKey": "typo", "models": [{"id": "m"}]}
    wired = wire_engine(make_engine, server, model="a/m", a={**wrong, "authProfiles": []})
    wired.plan("typo:m", Failure(401, "no such key", code="invalid_api_key"))
    assert wired.turn().reason == Why.AUTH_PERMANENT
    again = wired.turn()
    assert again.error is not None
    assert re.search(r"is in cooldown after a failure \(auth_permanent\), for another 2[4-6] h", again.error)
    assert "a key that was changed is tried at once" in again.error
    assert "`ocw models resume <provider>` ends one" in again.error
    assert wired.asked() == ["typo:m"]

    right = {
        "apiKey": "right",
        "baseUrl": server.openai_url.replace("127.0.0.1", "localhost"),
        "headers": {"x-team": "blue"},
    }
    mended = wire_engine(make_engine, server, model="a/m", a={**wrong, what: right[what], "authProfiles": []})
    assert mended.turn(session="agent:main:mended").state == "ok"


@pytest.mark.parametrize(("seconds", "state"), [(1, "ok"), (300, "error")])
def test_a_moment_is_waited_for_when_there_is_no_other(
    make_engine: MakeEngine, server: WireServer, seconds: int, state: str
) -> None:
    """As when another worker was told to come back in a second: nobody's message fails for that."""
    wired = wire_engine(make_engine, server, model="b/m")
    wired.health.failed(wired.known_as("b/b1"), "call", Why.RATE_LIMIT, seconds * 1000)
    wired.health.may_probe(wired.known_as("b/b1"))
    run = wired.turn()
    assert (run.state, wired.asked()) == (state, ["b1:m"] if state == "ok" else [])
    assert run.reason == ("complete" if state == "ok" else Why.RATE_LIMIT)


def test_a_moment_is_waited_for_when_all_others_have_failed(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model={"primary": "a/m", "fallbacks": ["b/m"]})
    wired.health.failed(wired.known_as("b/b1"), "call", Why.RATE_LIMIT, 1000)
    for key in ("a1:m", "a2:m"):
        wired.plan(key, Failure(402, "no money"))
    run = wired.turn()
    assert (run.state, wired.asked()) == ("ok", ["a1:m", "a2:m", "b1:m"])


# How long, and what for.


def test_retry_after_is_honoured_and_never_in_step(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Failure(429, "slow down", headers={"retry-after": "1000"}))
    wired.plan("a2:m", Failure(429, "slow down"))
    wired.plan("b1:m", Failure(429, "come back", headers={"retry-after": "0"}))
    assert wired.turn().text == "b1:m"
    pauses = wired.pause_ms("a/a1"), wired.pause_ms("a/a2"), wired.pause_ms("b/b1")
    for pause_ms, wanted_ms in zip(pauses, (1_000_000, 5 * MINUTE, 0), strict=True):
        assert wanted_ms - 5_000 <= pause_ms <= wanted_ms * (1 + JITTER_THOUSANDTHS / 1000)
    for number in range(8):
        wired.cool(f"c/{number}")
    assert len({wired.pause_ms(f"c/{number}") // 500 for number in range(8)}) > 1


def waits(wired: WireHarness, seconds: int, seconds_left: float) -> list[float]:
    """How long each of twenty turns waits for a key that is left alone for so long."""
    engine = wired.engine
    models = engine.built.models
    agent = resolve_agent(engine.loaded.settings, "main")
    wired.health.failed(wired.known_as("b/b1"), f"call-{seconds}", Why.RATE_LIMIT, seconds * 1000)
    wired.health.may_probe(wired.known_as("b/b1"))
    waited: list[float] = []
    for number in range(20):
        run, cancel = RunId(f"run-{number}"), Watched(waited)
        chain = models.chain(agent, run, SESSION, {}, cancel, seconds_left=lambda: seconds_left)
        with pytest.raises(ProviderError, match="in cooldown"):
            chain.choose(f"call-{number}", lambda _: 0, lambda _: None)
    return waited


class Watched(Cancel):
    def __init__(self, waited: list[float]) -> None:
        super().__init__()
        self._waited = waited

    def wait(self, seconds: float) -> None:
        self._waited.append(seconds)


def test_those_who_wait_for_one_key_do_not_come_back_together(make_engine: MakeEngine, server: WireServer) -> None:
    """The end of a pause is the same for all; the more have gathered by then, the wider they must be spread."""
    wired = wire_engine(make_engine, server, model="b/m")
    short, long = waits(wired, 3, 600), waits(wired, 24, 600)
    assert [len(short), len(long)] == [20, 20]
    assert max(short) - min(short) < 2 < 0.4 * 12 < max(long) - min(long) < 14
    assert min(short) >= 2.5
    assert min(long) >= 23, "nobody comes earlier than was asked for"
    assert max(waits(wired, 24, 27)) < 27, "nor too late for its turn"


def test_with_scope_model_other_models_of_the_key_go_on(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, models={"cooldownScope": "model"})
    for key in ("a1:m", "a2:m"):
        wired.plan(key, Failure(429, "slow down"))
    assert wired.turn().text in ("a1:n", "a2:n")
    assert wired.pause_ms("a/a1/m") > 0
    assert wired.pause_ms("a/a1/n") == 0


def test_a_model_that_is_late_keeps_nobody_from_the_others_of_its_key(
    make_engine: MakeEngine, server: WireServer
) -> None:
    wired = wire_engine(make_engine, server)
    for key in ("a1:m", "a2:m"):
        wired.plan(key, Failure(503, "not just now"))
    assert wired.turn().text in ("a1:n", "a2:n")
    assert wired.asked()[:2] == ["a1:m", "a2:m"]
    assert [wired.pause_ms(f"a/{key}") > 0 for key in ("a1/m", "a2/m", "a1", "a1/n")] == [True, True, False, False]

    redis, keys = wired.engine.stores.redis, wired.engine.stores.keys
    redis.set(keys.probe(wired.known_as("a/a1")), "1")  # as if it were being probed by somebody
    redis.set(keys.probe(wired.known_as("a/a2")), "1")
    run = wired.turn(session="agent:main:other")
    assert run.text in ("a1:n", "a2:n")
    assert [(each.model, each.reason, each.skipped) for each in run.model_attempts] == [("a/m", Why.TIMEOUT, True)]

    redis.delete(keys.probe(wired.known_as("a/a1")))
    assert wired.turn(session="agent:main:third").text == "a1:m"
    assert wired.pause_ms("a/a1/m") == 0, "and what it knew is forgotten"
    assert redis.hget(keys.cooldown(wired.known_as("a/a1/m")), "count_timeout") is None


def test_an_answer_does_not_undo_what_failed_while_it_came(make_engine: MakeEngine, server: WireServer) -> None:
    """Another worker was told that the money is gone while this call was still being answered."""
    wired = wire_engine(make_engine, server)

    def answer(_: Recorded) -> Reply:
        wired.cool("a/a1", reason=Why.BILLING)
        return Reply("ok", gap_seconds=0.02)

    server.answer = answer
    assert wired.turn().text == "ok"
    assert wired.pause_ms("a/a1") > 0


def test_nothing_is_noted_of_a_key_that_works(make_engine: MakeEngine, server: WireServer) -> None:
    one = wire_engine(make_engine, server, a={"authProfiles": [{"id": "a1", "apiKey": "a1"}]})
    health, redis = one.engine.stores.keys.cooldown(one.known_as("a/a1")), one.engine.stores.redis
    assert [one.turn(session=session).text for session in sessions(2)] == ["a1:m", "a1:m"]
    assert redis.hgetall(health) == {}

    one.cool("a/a1")
    redis.hset(health, "until_rate_limit", 1)  # as when its pause is over
    assert one.turn(session="agent:main:next").text == "a1:m"
    assert redis.hget(health, "until_rate_limit") is None, "its failures are forgotten"
    noted = redis.hget(health, "call")
    assert one.turn(session="agent:main:last").text == "a1:m"
    assert redis.hget(health, "call") == noted


def test_of_several_keys_only_the_choice_is_noted(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    health, redis = wired.engine.stores.keys.cooldown(wired.known_as("a/a1")), wired.engine.stores.redis
    assert wired.turn().text == "a1:m"
    noted = redis.hgetall(health)
    assert noted["used_at"]
    assert [wired.turn().text for _ in range(2)] == ["a1:m", "a1:m"]
    assert redis.hgetall(health) == noted
