"""Budgets and limits of the configuration, each by its effect on a turn."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import AssistantEntry, NoticeEntry, Usage
from openclaw_workers.engine.llm import admission as guard
from openclaw_workers.engine.llm.admission import Admission
from openclaw_workers.errors import TurnAborted
from openclaw_workers.providers.registry import Providers
from openclaw_workers.store.llm.ledger import totals
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, Limit, RateLimits
from tests.component.engine.conftest import SESSION, MakeEngine
from tests.component.engine.model_turns import is_flush, is_summary
from tests.component.engine.wire_harness import WireHarness, provider, wire_engine
from tests.support.waiting import eventually
from tests.support.wire import Called, Hang, Recorded, Reply, WireServer

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")
ELSEWHERE = RunId("run-elsewhere")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def limits(wired: WireHarness) -> RateLimits:
    return RateLimits(wired.engine.stores.redis, wired.engine.stores.keys)


def budget_of(place: str, budget: dict[str, Any]) -> dict[str, Any]:
    """The configuration that sets it there."""
    configs: dict[str, dict[str, Any]] = {
        "day": {"budgets": {"day": budget}},
        "tree": {"budgets": {"tree": budget}},
        "defaults": {"defaults": {"budget": budget}},
        "agent": {"agents": {"list": [{"id": "main", "budget": budget}, {"id": "other"}]}},
    }
    return configs[place]


BUDGETS: list[tuple[dict[str, Any], str, str]] = [
    ({"tokens": 15}, "15 of 15 tokens", "tokens"),
    ({"calls": 1}, "1 of 1 model calls", "calls"),
    ({"cost": 0.00001}, "2e-05 of 1e-05 dollars", "cost"),
]


@pytest.mark.parametrize(("budget", "reported", "_name"), BUDGETS, ids=[name for _, _, name in BUDGETS])
@pytest.mark.parametrize("place", ["day", "tree", "defaults", "agent"])
def test_a_turn_over_budget_ends_with_a_clear_answer(
    make_engine: MakeEngine, server: WireServer, place: str, budget: dict[str, Any], reported: str, _name: str
) -> None:
    wired = wire_engine(make_engine, server, **budget_of(place, budget))
    wired.plan("a1:m", Reply(calls=[Called("read", {"path": "x"})], input=10, output=5))
    run = wired.turn()
    assert (run.state, run.reason, wired.asked()) == ("ok", "budget", ["a1:m"])
    assert run.text is not None
    assert run.text.startswith("I have to stop here: the budget ")
    assert reported in run.text
    assert ". It starts again at 00:00 UTC; its limit is in the configuration" in run.text, "and what to do"
    last = wired.engine.log()[-1]
    assert isinstance(last, AssistantEntry)
    assert last.text == run.text

    again = wired.turn("and now?", session="agent:main:elsewhere")
    assert again.reason == ("complete" if place == "tree" else "budget"), "another tree has a budget of its own"
    if place == "agent":
        assert wired.turn(session="agent:other:main").reason == "complete"


def unpriced(server: WireServer) -> dict[str, Any]:
    a = provider(server, "openai-completions", "a1", models=("m", "n"))
    del a["models"][0]["cost"]
    return a


MISSING = "a budget in dollars is set: give models.providers.a.models[].cost for m"


@pytest.mark.parametrize("place", ["day", "tree", "defaults"])
def test_a_model_of_unknown_price_is_not_asked_under_a_budget_in_dollars(
    make_engine: MakeEngine, server: WireServer, place: str
) -> None:
    budget = {"cost": 5.0}
    config: dict[str, Any] = {"defaults": {"budget": budget}} if place == "defaults" else {"budgets": {place: budget}}
    wired = wire_engine(make_engine, server, a=unpriced(server), model="a/m", **config)
    run = wired.turn()
    assert (run.state, wired.asked(), wired.ledger()) == ("error", [], [])
    assert MISSING in (run.error or "")
    assert run.reason == "price_unknown", "nobody is sent to look after the account"


def test_a_fallback_with_a_price_answers_for_a_model_without(make_engine: MakeEngine, server: WireServer) -> None:
    model = {"primary": "a/m", "fallbacks": ["a/n"]}
    wired = wire_engine(make_engine, server, a=unpriced(server), model=model, budgets={"day": {"cost": 5.0}})
    run = wired.turn()
    assert (run.text, wired.asked(), run.fallback_from) == ("a1:n", ["a1:n"], "a/m")
    (attempt,) = run.model_attempts
    assert attempt.skipped
    assert MISSING in attempt.error
    (notice,) = [entry for entry in wired.engine.log() if isinstance(entry, NoticeEntry)]
    assert MISSING in notice.text


def test_a_price_of_nothing_is_a_price(make_engine: MakeEngine, server: WireServer) -> None:
    free = unpriced(server)
    free["models"][0]["cost"] = {}
    wired = wire_engine(make_engine, server, a=free, model="a/m", budgets={"day": {"cost": 5.0}})
    assert wired.turn().text == "a1:m"
    assert wire_engine(make_engine, server, model="offline/demo", budgets={"day": {"cost": 5.0}}).turn().state == "ok"


def test_a_price_is_asked_for_only_by_a_budget_in_dollars(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, a=unpriced(server), model="a/m", budgets={"day": {"tokens": 500_000}})
    assert wired.turn().text == "a1:m"
    (total,) = totals(wired.ledger(), lambda call: call.model)
    assert (total.calls, total.unpriced, total.cost) == (1, 1, 0.0)


@pytest.mark.parametrize("place", ["day", "tree", "agent"])
def test_seconds_count_too(make_engine: MakeEngine, server: WireServer, place: str) -> None:
    wired = wire_engine(make_engine, server, **budget_of(place, {"seconds": 1}))
    wired.plan("a1:m", Reply("slow", gap_seconds=0.2))
    assert wired.turn().text == "slow"
    run = wired.turn("more")
    assert (run.reason, wired.asked()) == ("budget", ["a1:m"])
    assert "of 1 seconds of work" in (run.text or "")


def test_seconds_of_tools_count_when_their_result_is_written(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, **budget_of("day", {"seconds": 1}))
    wired.plan("a1:m", Reply(calls=[Called("exec", {"command": "sleep 1.1"})]))
    run = wired.turn()
    assert (run.reason, wired.asked()) == ("budget", ["a1:m"])
    assert sum(call.milliseconds for call in wired.ledger()) < 1000, "the calls alone had time left"
    result = wired.engine.log()[-2]
    assert result.role == "toolResult"


def test_a_stopped_tool_is_counted_too(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, budgets={"day": {"seconds": 100}})
    wired.plan("a1:m", Reply(calls=[Called("exec", {"command": "touch begun; sleep 60"})]))
    thread, queued = in_background(wired)
    eventually((Path(wired.engine.loaded.state_dir) / "workspace" / "begun").exists, within=15)
    (handle,) = wired.engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    assert finish(wired, thread, queued).state == "killed"
    (spent,) = [str(key) for key in wired.engine.stores.redis.keys("*:spent")]
    asked = sum(call.milliseconds for call in wired.ledger()) / 1000
    assert float(str(wired.engine.stores.redis.hget(spent, "seconds"))) > asked


def test_a_call_is_ended_when_the_time_of_a_budget_is_used_up(
    make_engine: MakeEngine, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it will take is not known beforehand: it may be longer than what was reserved for it."""
    monkeypatch.setattr(guard, "RENEW_SECONDS", 0.0)
    wired = wire_engine(make_engine, server, model="a/m", budgets={"tree": {"seconds": 1}})
    wired.plan("a1:m", Reply("half an answer", after=4, then="hang"))
    thread, queued = in_background(wired)
    eventually(server.is_silent.is_set, within=15)

    def hold() -> bool:
        for handle in wired.engine.process.runs():
            handle.activity.renew_reservation()  # as the ticker does
        return not thread.is_alive()

    eventually(hold, within=15)
    run = finish(wired, thread, queued)
    assert (run.state, run.reason) == ("ok", "budget")
    assert "I have to stop here: the budget tree agent:main:main" in (run.text or "")
    assert (run.text or "").startswith("half"), "what was said is kept"
    (call,) = wired.ledger()
    assert (call.outcome, 1000 <= call.milliseconds < 3000) == ("aborted", True)


@pytest.mark.parametrize("api", APIS)
def test_tokens_of_the_cache_are_kept_and_paid_at_their_own_prices(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    a = provider(server, api, "a1")
    a["models"][0]["cost"] = {"input": 1.0, "output": 2.0, "cacheRead": 0.25, "cacheWrite": 1.5}
    wired = wire_engine(make_engine, server, a=a, model="a/m")
    wired.plan("a1:m", Reply("Hello.", input=1000, output=500, cache_read=20_000, cache_write=400))
    wired.turn()
    (call,) = wired.ledger()
    assert call.usage == Usage(input=1000, output=500, cache_read=20_000, cache_write=400)
    assert call.cost == 0.0076, "1000 + 500 * 2 + 20000 * 0.25 + 400 * 1.5, each a millionth of a dollar"


def in_background(wired: WireHarness) -> tuple[threading.Thread, Any]:
    queued = wired.engine.say("hello", SESSION)
    thread = threading.Thread(target=wired.engine.work, daemon=True)
    thread.start()
    return thread, queued


def finish(wired: WireHarness, thread: threading.Thread, queued: Any) -> Run:
    thread.join(15)
    return wired.engine.run_of(queued)


PLACES = {"provider": "a", "profile": "a/a1", "own": "a/main:k1", "model": "a//m"}


def limited(make_engine: MakeEngine, server: WireServer, place: str, given: dict[str, int]) -> WireHarness:
    a = provider(server, "openai-completions", "a1", models=("m", "n"))
    own: dict[str, Any] = {"provider": "a", "apiKey": "a1"}
    {"provider": a, "profile": a["authProfiles"][0], "model": a["models"][0], "own": own}[place]["limits"] = given
    wired = wire_engine(make_engine, server, model="a/m", a=a)
    if place == "own":
        path = wired.engine.loaded.state_dir / "agents" / "main" / "auth-profiles.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"profiles": {"k1": own}}))
    return wired


@pytest.mark.parametrize("place", PLACES)
def test_who_is_over_a_concurrency_limit_waits_and_is_served(
    make_engine: MakeEngine, server: WireServer, place: str
) -> None:
    wired, limit = limited(make_engine, server, place, {"concurrent": 1}), Limit(PLACES[place], concurrent=1)
    assert limits(wired).ask([limit], ELSEWHERE, "call", 10) == 0
    thread, queued = in_background(wired)
    line = wired.engine.stores.keys.waiting(PLACES[place])
    eventually(lambda: wired.engine.stores.redis.zcard(line), within=15)
    assert wired.asked() == []
    limits(wired).done([limit], ELSEWHERE, "call")
    assert finish(wired, thread, queued).text == "a1:m"
    assert wired.engine.stores.redis.zcard(wired.engine.stores.keys.working(PLACES[place])) == 0


@pytest.mark.parametrize("given", [{"requestsPerMinute": 1}, {"tokensPerMinute": 10}])
@pytest.mark.parametrize("place", PLACES)
def test_who_is_over_a_limit_per_minute_waits_for_the_minute(
    make_engine: MakeEngine, server: WireServer, place: str, given: dict[str, int]
) -> None:
    wired = limited(make_engine, server, place, given)
    redis, keys = wired.engine.stores.redis, wired.engine.stores.keys
    assert wired.turn().text == "a1:m", "alone it may be larger than the limit"
    assert wired.asked() == ["a1:m"]
    thread, queued = in_background(wired)
    eventually(lambda: redis.zcard(keys.waiting(PLACES[place])), within=15)
    assert wired.asked() == []
    (member,) = redis.zrange(keys.recent(PLACES[place]), 0, -1)
    redis.zadd(keys.recent(PLACES[place]), {str(member): 1})  # as after a minute
    assert finish(wired, thread, queued).text == "a1:m"


def test_who_waits_for_one_model_does_not_hold_up_the_provider_s_others(
    make_engine: MakeEngine, server: WireServer
) -> None:
    a = provider(server, "openai-completions", "a1", models=("m", "n"), limits={"concurrent": 1})
    a["models"][0]["limits"] = {"concurrent": 1}
    agents = {"list": [{"id": "main", "model": "a/m"}, {"id": "other", "model": "a/n"}]}
    wired, busy = wire_engine(make_engine, server, a=a, agents=agents), [Limit("a//m", concurrent=1)]
    limits(wired).ask(busy, ELSEWHERE, "call", 10)
    thread, queued = in_background(wired)
    eventually(lambda: wired.engine.stores.redis.zcard(wired.engine.stores.keys.waiting("a//m")), within=15)
    assert wired.turn(session="agent:other:main").text == "a1:n"
    limits(wired).done(busy, ELSEWHERE, "call")
    assert finish(wired, thread, queued).text == "a1:m"


@pytest.mark.parametrize("what", ["limit", "budget"])
def test_viewers_of_a_turn_that_waits_learn_once_what_for(
    make_engine: MakeEngine, server: WireServer, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(guard, "SHOWN_AFTER_SECONDS", 0.3)
    given: dict[str, Any] = (
        {"a": {"limits": {"concurrent": 1}}} if what == "limit" else {"budgets": {"day": {"calls": 1}}}
    )
    wired = wire_engine(make_engine, server, model="a/m", **given)
    engine = wired.engine
    budget = Budget(f"day {datetime.now(UTC):%Y-%m-%d}", calls=1)
    limits(wired).ask([Limit("a", concurrent=1)], ELSEWHERE, "call", 10)
    limits(wired).reserve(ELSEWHERE, "call", Amounts(calls=1), [budget])
    thread, queued = in_background(wired)

    def is_shown() -> bool:
        for handle in engine.process.runs():
            handle.activity.show()  # as the ticker does
        return "model.waiting" in engine.events()

    eventually(is_shown, within=15)
    limits(wired).done([Limit("a", concurrent=1)], ELSEWHERE, "call")
    engine.stores.redis.delete(engine.stores.keys.reserved(budget.name))
    assert finish(wired, thread, queued).state == "ok"
    (reported,) = [
        event.data["why"] for event in engine.stores.reader.events(SESSION, "0") if event.type == "model.waiting"
    ]
    assert (
        reported
        == {
            "limit": "the limits set for a/m are reached",
            "budget": "other calls have reserved what is left of the budget",
        }[what]
    )


def test_who_is_stopped_while_waiting_leaves_no_place_and_no_reservation(
    make_engine: MakeEngine, server: WireServer
) -> None:
    a = provider(server, "openai-completions", "a1", limits={"concurrent": 1})
    a["models"][0]["limits"] = {"concurrent": 1}
    wired = wire_engine(make_engine, server, model="a/m", a=a, budgets={"tree": {"tokens": 1_000_000}})
    redis, keys = wired.engine.stores.redis, wired.engine.stores.keys
    limits(wired).ask([Limit("a//m", concurrent=1)], ELSEWHERE, "call", 10)
    thread, queued = in_background(wired)
    eventually(lambda: redis.zcard(keys.waiting("a//m")), within=15)
    (budget,) = [str(key) for key in redis.keys("*reserved*")]
    assert redis.hlen(budget) == 1
    (handle,) = wired.engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    assert finish(wired, thread, queued).state == "killed"
    assert (redis.zcard(keys.working("a")), redis.zcard(keys.waiting("a//m")), redis.hlen(budget)) == (0, 0, 0)
    assert wired.ledger() == []


def test_a_reservation_covers_the_longest_answer(make_engine: MakeEngine, server: WireServer) -> None:
    """With less reserved, calls side by side could spend far more than is left."""
    wired = wire_engine(make_engine, server, budgets={"day": {"tokens": 1_000_000}})
    wired.plan("a1:m", Hang())
    thread, queued = in_background(wired)
    eventually(server.is_silent.is_set, within=15)
    redis = wired.engine.stores.redis
    (budget,) = [str(key) for key in redis.keys("*reserved*")]
    reservation = json.loads(str(redis.hvals(budget)[0]))
    assert reservation["tokens"] > 4096
    assert (reservation["calls"], reservation["seconds"]) == (1, 60)
    (handle,) = wired.engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    finish(wired, thread, queued)
    assert redis.hlen(budget) == 0


def test_a_reservation_for_a_program_covers_all_it_may_write(make_engine: MakeEngine, server: WireServer) -> None:
    program = {"command": ["sleep", "60"], "maxOutputBytes": 80_000}
    wired = wire_engine(
        make_engine,
        server,
        model="cli/sleeper",
        models={"cli": {"sleeper": program}},
        budgets={"day": {"tokens": 50_000}},
    )
    redis = wired.engine.stores.redis
    thread, queued = in_background(wired)
    budget = eventually(lambda: [str(key) for key in redis.keys("*reserved*")], within=15)[0]
    assert 20_000 < json.loads(str(redis.hvals(budget)[0]))["tokens"] < 30_000
    (handle,) = wired.engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    finish(wired, thread, queued)


@pytest.mark.parametrize("api", APIS)
def test_a_reservation_is_no_less_than_what_the_api_counts(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    """Prompt, tools and tail included, also for notes and summaries; the server counts four bytes to a token."""
    flushed = {"memoryFlush": {"forceFlushTranscriptBytes": 100}}
    a = provider(server, api, "a1")
    a["models"][0]["cost"] = {"input": 1.0, "output": 2.0, "cacheWrite": 1.25}
    budget = {"tokens": 10_000_000, "cost": 1000.0}
    wired = wire_engine(
        make_engine, server, a=a, model="a/m", defaults={"compaction": flushed}, budgets={"day": budget}
    )
    redis, reserved, counted = wired.engine.stores.redis, list[dict[str, float]](), list[int]()
    kinds = Counter[str]()

    def answer(request: Recorded) -> Reply:
        (reservation,) = [str(key) for key in redis.keys("*reserved*")]
        reserved.append(json.loads(str(redis.hvals(reservation)[0])))
        counted.append(len(json.dumps(request.body)) // 4)
        kinds["flush" if is_flush(request) else "summary" if is_summary(request) else "turn"] += 1
        return Reply("It was about blue.", cache_write=counted[-1], input=0, output=4096)

    server.answer = answer
    for _ in range(3):
        wired.turn('I like "blue".\n' * 40)
    wired.turn("/compact")
    assert kinds == {"turn": 3, "flush": 1, "summary": 1}
    for call, reservation, size in zip(wired.ledger(), reserved, counted, strict=True):
        assert size + 4096 <= reservation["tokens"] < size * 2 + 4096
        assert call.usage.total <= reservation["tokens"]
        assert call.cost <= reservation["cost"]


def test_a_call_holds_on_to_what_it_has_taken_until_it_is_over(
    make_engine: MakeEngine, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "RENEW_SECONDS", 0.0)
    wired = wire_engine(make_engine, server, a={"limits": {"concurrent": 1}})
    redis, working = wired.engine.stores.redis, wired.engine.stores.keys.working("a")
    wired.plan("a1:m", Hang())
    wired.engine.say("hello")
    thread = threading.Thread(target=wired.engine.work, daemon=True)
    thread.start()
    eventually(server.is_silent.is_set, within=20)
    (handle,) = wired.engine.process.runs()
    redis.zadd(working, {handle.lease.run: 1})
    handle.activity.renew_reservation()
    assert float(str(redis.zscore(working, handle.lease.run))) > 1
    handle.cancel.set(TurnAborted("killed"))
    thread.join(5)
    handle.activity.renew_reservation()
    assert redis.zcard(working) == 0


def test_without_limits_and_budgets_no_request_is_measured() -> None:
    def measured(_: object) -> int:
        raise AssertionError("this costs time in every call")

    candidate = Candidate(Providers().get("offline"), "demo")
    nobody = cast("Any", None)
    Admission(nobody, ELSEWHERE, [], lambda _: [], nobody).enter(candidate, "call", measured, Cancel())
