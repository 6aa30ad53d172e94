"""Failover matrix: each kind of failure with its decision, through the real SDKs and whole turns."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.domain.transcript import NoticeEntry
from openclaw_workers.engine.llm import failover
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.errors import TurnAborted
from openclaw_workers.providers import endpoint
from tests.component.engine.conftest import SESSION, MakeEngine
from tests.component.engine.wire_harness import WireHarness, wire_engine
from tests.support.waiting import eventually
from tests.support.wire import Called, Failure, Hang, Raw, Reply, WireServer
from tests.support.wire.behaviour import Behaviour

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")
NEXT_KEY, NEXT_MODEL = ["a1:m", "a2:m"], ["a1:m", "a2:n"]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


MATRIX: list[tuple[Behaviour, Why, list[str]]] = [
    # By status.
    (Failure(402, "no"), Why.BILLING, NEXT_KEY),
    (Failure(429, "no"), Why.RATE_LIMIT, NEXT_KEY),
    (Failure(529, "no"), Why.RATE_LIMIT, NEXT_KEY),
    (Failure(401, "no"), Why.AUTH, NEXT_KEY),
    (Failure(403, "no"), Why.AUTH, NEXT_KEY),
    (Failure(408, "no"), Why.TIMEOUT, NEXT_KEY),
    (Failure(502, "no"), Why.TIMEOUT, NEXT_KEY),
    (Failure(503, "no"), Why.TIMEOUT, NEXT_KEY),
    (Failure(504, "no"), Why.TIMEOUT, NEXT_KEY),
    (Failure(500, "no", type="api_error"), Why.UNKNOWN, NEXT_KEY),
    (Failure(400, "no"), Why.FORMAT, NEXT_MODEL),
    (Failure(422, "no"), Why.FORMAT, NEXT_MODEL),
    (Failure(404, "no"), Why.MODEL_NOT_FOUND, NEXT_MODEL),
    # By code.
    (Failure(401, "no", code="invalid_api_key"), Why.AUTH_PERMANENT, NEXT_KEY),
    (Failure(429, "no", code="insufficient_quota"), Why.BILLING, NEXT_KEY),
    (Failure(400, "no", code="model_not_found"), Why.MODEL_NOT_FOUND, NEXT_MODEL),
    (Failure(403, "no", code="model_not_found"), Why.MODEL_NOT_FOUND, NEXT_KEY),
    (Failure(500, "no", code="rate_limit_exceeded"), Why.RATE_LIMIT, NEXT_KEY),
    (Failure(500, "no", code="server_error"), Why.TIMEOUT, NEXT_KEY),
    (Failure(400, "no", code="session_expired"), Why.SESSION_EXPIRED, NEXT_KEY),
    # By message.
    (Failure(401, "No luck: Invalid API key"), Why.AUTH, NEXT_KEY),
    (Failure(403, "This API key has been revoked"), Why.AUTH_PERMANENT, NEXT_KEY),
    (Failure(400, "Your credit balance is too low"), Why.BILLING, NEXT_KEY),
    (Failure(500, "Overloaded"), Why.RATE_LIMIT, NEXT_KEY),
    (Failure(500, "Internal server error", type="api_error"), Why.TIMEOUT, NEXT_KEY),
    (Failure(410, "Session expired"), Why.SESSION_EXPIRED, NEXT_KEY),
    (Failure(404, "Session not found"), Why.SESSION_EXPIRED, NEXT_KEY),
    # In mid-stream.
    (Reply("half an answer", after=3, then="reset"), Why.CUT, NEXT_KEY),
    (
        Reply("half", after=2, then="error", error={"type": "overloaded_error", "message": "Overloaded"}),
        Why.RATE_LIMIT,
        NEXT_KEY,
    ),
    (Raw([(None, [])]), Why.CUT, NEXT_KEY),
]


@pytest.mark.parametrize("api", APIS)
def test_each_failure_has_its_decision(make_engine: MakeEngine, server: WireServer, api: Api) -> None:
    wired = wire_engine(make_engine, server, api=api)
    for behaviour, reason, asked in MATRIX:
        wired.engine.stores.redis.flushdb()
        wired.plan("a1:m", behaviour)
        run = wired.turn()
        assert (run.state, run.text, wired.asked()) == ("ok", asked[-1], asked), behaviour
        (attempt,) = run.model_attempts
        assert (attempt.model, attempt.profile, attempt.reason) == ("a/m", "a1", reason), behaviour
        if isinstance(behaviour, Failure):
            assert (attempt.status, attempt.skipped) == (behaviour.status, False)
            assert attempt.code == (behaviour.code or behaviour.type), behaviour
            assert "no" in attempt.error.lower() or behaviour.message in attempt.error


@pytest.mark.parametrize("silence", [Hang(), Reply("half an answer", after=3, then="hang")])
@pytest.mark.parametrize("api", APIS)
def test_who_falls_silent_is_late(
    make_engine: MakeEngine, server: WireServer, monkeypatch: pytest.MonkeyPatch, api: Api, silence: Behaviour
) -> None:
    monkeypatch.setattr(endpoint, "SELF_HOSTED_IDLE_SECONDS", 0.4)
    wired = wire_engine(make_engine, server, api=api)
    wired.plan("a1:m", silence)
    run = wired.turn()
    assert (run.state, run.text, wired.asked()) == ("ok", "a2:m", NEXT_KEY)
    (attempt,) = run.model_attempts
    assert (attempt.profile, attempt.reason, attempt.status) == ("a1", Why.TIMEOUT, None)
    assert "no answer came in time" in attempt.error
    assert 400 <= attempt.milliseconds < 5_000
    assert len(server.went_away) == 1, "and nobody listens to it now"


@pytest.mark.parametrize("api", APIS)
def test_where_nobody_answers_the_next_is_asked(make_engine: MakeEngine, server: WireServer, api: Api) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        wired = wire_engine(make_engine, server, api=api, a={"baseUrl": f"http://{address}"})
        run = wired.turn()
    assert (run.state, run.text, wired.asked()) == ("ok", "b1:m", ["b1:m"])
    reported = [(each.model, each.profile, each.reason, each.status) for each in run.model_attempts]
    # A model that cannot be reached says nothing of another by the same key.
    keys = [("a/m", "a1"), ("a/m", "a2"), ("a/n", "a1"), ("a/n", "a2")]
    assert sorted(reported) == [(*key, Why.TIMEOUT, None) for key in keys]
    assert [each.model for each in run.model_attempts] == ["a/m", "a/m", "a/n", "a/n"]
    assert all(f"no connection to {address}" in each.error for each in run.model_attempts)
    assert {each.description for each in run.model_attempts} == {"connection refused"}


@pytest.mark.parametrize(
    "overflow",
    [Failure(400, "prompt is too long: 208310 tokens > 200000 maximum"), Failure(413, "no", type="request_too_large")],
)
@pytest.mark.parametrize("api", APIS)
def test_an_overflow_never_falls_back(make_engine: MakeEngine, server: WireServer, api: Api, overflow: Failure) -> None:
    wired = wire_engine(make_engine, server, api=api)
    wired.plan("a1:m", *[overflow] * 9)
    run = wired.turn()
    assert (run.state, run.reason) == ("error", Why.CONTEXT_OVERFLOW)
    assert set(wired.asked()) == {"a1:m"}
    assert wired.pause_ms("a/a1") == 0, "it says nothing about the key"


def test_a_stop_never_falls_back(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Hang())
    queued = wired.engine.say("hello")
    thread = threading.Thread(target=wired.engine.work, daemon=True)
    thread.start()
    eventually(server.is_silent.is_set, within=20)
    (handle,) = wired.engine.process.runs()
    handle.cancel.set(TurnAborted("killed"))
    thread.join(5)
    run = wired.engine.run_of(queued)
    assert (run.state, run.model_attempts, wired.asked()) == ("killed", [], ["a1:m"])
    (call,) = wired.ledger()
    assert (call.outcome, call.profile, call.estimated) == ("aborted", "a1", True)
    assert call.usage.input == run.usage.input > 500, "it was sent, and is billed"


def test_a_provider_without_a_usable_key_is_skipped_and_people_are_notified(
    make_engine: MakeEngine, server: WireServer
) -> None:
    """A limited provider's other model is not asked either."""
    wired = wire_engine(make_engine, server)
    for key in ("a1:m", "a2:m"):
        wired.plan(key, Failure(429, "Rate Limit Exceeded"))
    run = wired.turn()
    assert (run.text, run.model, wired.asked()) == ("b1:m", "b/m", ["a1:m", "a2:m", "b1:m"])
    assert [(each.model, each.profile, each.skipped) for each in run.model_attempts] == [
        ("a/m", "a1", False),
        ("a/m", "a2", False),
        ("a/n", "", True),
    ]
    (notice,) = [entry for entry in wired.engine.log() if isinstance(entry, NoticeEntry)]
    assert notice.text == "a/m failed: a: Rate Limit Exceeded. b/m answered instead."
    assert [entry.role for entry in wired.engine.log()] == ["user", "notice", "assistant"]
    assert [(call.outcome, call.profile) for call in wired.ledger()] == [
        ("rate_limit", "a1"),
        ("rate_limit", "a2"),
        ("ok", "b1"),
    ]


def test_a_fallback_that_ends_the_turn_to_wait_is_reported_too(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Failure(400, "no"))
    spawn, rest = Called("sessions_spawn", {"task": "look"}), Called("sessions_yield", {"message": "back soon"})
    wired.plan("a2:n", Reply(calls=[spawn]), Reply(calls=[rest]))
    run = wired.turn()
    assert (run.reason, run.text, run.model, run.fallback_from) == ("yielded", "back soon", "a/n", "a/m")


def test_when_all_fail_the_error_says_what_became_of_each(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Failure(404, "Unknown model: m"))
    wired.plan("a1:n", Failure(402, "no money either"))
    wired.plan("a2:n", Failure(402, "no money"))
    wired.plan("b1:m", Failure(401, "this key was revoked"))
    run = wired.turn()
    assert (run.state, run.reason) == ("error", Why.AUTH_PERMANENT)
    assert run.error is not None
    assert "all models failed (4): a/m: a: Unknown model: m (model_not_found) | a/n: a: no money (billing)" in run.error
    assert "b/m: b: this key was revoked (auth_permanent)" in run.error
    assert [call.outcome for call in wired.ledger()] == ["model_not_found", "billing", "billing", "auth_permanent"]


def test_when_all_fail_people_read_what_happened_to_the_last_call(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    for key in ("a1:m", "a2:m", "a1:n", "a2:n", "b1:m"):
        wired.plan(key, *[Failure(500, "broken")] * 3)
    run = wired.turn()
    assert (run.state, run.reason) == ("error", Why.UNKNOWN)
    assert str(run.error).startswith("the model call failed (HTTP 500): all models failed")
    assert "b/m: b: broken (HTTP 500) 3 times" in str(run.error)


@pytest.mark.parametrize("status", [503, 500])
@pytest.mark.parametrize(("failures", "state"), [(2, "ok"), (3, "error")])
def test_with_no_other_model_the_same_is_asked_twice_more(
    make_engine: MakeEngine, server: WireServer, failures: int, state: str, status: int
) -> None:
    reason = {503: Why.TIMEOUT, 500: Why.UNKNOWN}[status]
    wired = wire_engine(make_engine, server, model="b/m")
    wired.plan("b1:m", *[Failure(status, "busy")] * failures)
    run = wired.turn()
    assert (run.state, wired.asked()) == (state, ["b1:m"] * 3)
    assert [each.reason for each in run.model_attempts] == [reason] * failures
    assert run.reason == ("complete" if state == "ok" else reason)
    assert len(wired.ledger()) == 3


@pytest.mark.parametrize(
    ("failure", "asked"),
    [
        (Failure(429, "slow down", headers={"retry-after": "1"}), 2),
        (Failure(429, "slow down", headers={"retry-after": "120"}), 1),
        (Failure(503, "busy", headers={"retry-after": "120"}), 1),
        (Failure(429, "slow down"), 1),
    ],
)
def test_with_no_other_model_a_limit_is_waited_for_if_it_is_short(
    make_engine: MakeEngine, server: WireServer, monkeypatch: pytest.MonkeyPatch, failure: Failure, asked: int
) -> None:
    """Without a word of the provider's the key is in cooldown for minutes, and so by this turn too."""
    monkeypatch.setattr(failover, "SHOWN_AFTER_SECONDS", 0.9)
    wired = wire_engine(make_engine, server, model="b/m")
    wired.plan("b1:m", failure)
    run = wired.turn()
    assert (run.state, len(wired.asked())) == ("ok" if asked > 1 else "error", asked)
    assert (run.reason == "complete") == (asked > 1)
    first, last = server.requests[0].at, server.requests[-1].at
    assert last - first >= 1 or asked == 1, "and never less than was asked for"
    reported = [
        event.data["why"] for event in wired.engine.stores.reader.events(SESSION, "0") if event.type == "model.waiting"
    ]
    assert [why.partition(",")[0] for why in reported] == ["b/m failed (rate_limit)"] * (asked - 1)


ABSENT = {
    "offline/typo": "there is no model offline/typo",
    "cli/gone": "there is no program cli/gone",
    "nobody/m": "unknown provider 'nobody'",
    "a/zzz": "there is no model a/zzz",
}
PROGRAM = {"mode": "replace", "cli": {"cat": {"command": ["cat"]}}}


def choose(wired: WireHarness, model: str) -> None:
    """As a session has it that chose its model before the configuration was changed."""
    provider, _, name = model.partition("/")
    wired.engine.stores.sessions.patch(SESSION, {"providerOverride": provider, "modelOverride": name})


@pytest.mark.parametrize("absent", ABSENT)
def test_a_model_that_is_not_there_is_passed_over(make_engine: MakeEngine, server: WireServer, absent: str) -> None:
    """As when the provider itself says so."""
    wired = wire_engine(make_engine, server, model={"primary": "a/m", "fallbacks": ["b/m"]}, models=PROGRAM)
    assert wired.turn().text == wired.asked()[0] == "a1:m"
    choose(wired, absent)
    run = wired.turn()
    assert (run.state, run.text, run.fallback_from, wired.asked()) == ("ok", "b1:m", absent, ["b1:m"])
    (attempt,) = run.model_attempts
    assert (attempt.model, attempt.reason, attempt.skipped) == (absent, Why.MODEL_NOT_FOUND, True)
    assert ABSENT[absent] in attempt.error
    (notice,) = [entry for entry in wired.engine.log() if isinstance(entry, NoticeEntry)]
    assert f"{absent} failed: {ABSENT[absent]}" in notice.text
    assert [call.outcome for call in wired.ledger()] == ["ok", "ok"], "nobody was asked for it"


def test_without_another_model_the_turn_says_which_is_not_there(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server, model="b/m")
    assert wired.turn().text == wired.asked()[0] == "b1:m"
    choose(wired, "offline/typo")
    run = wired.turn()
    assert (run.state, run.reason, wired.asked()) == ("error", Why.MODEL_NOT_FOUND, [])
    assert "there is no model offline/typo" in (run.error or "")
