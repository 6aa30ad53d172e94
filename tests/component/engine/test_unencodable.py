"""Text that UTF-8 cannot hold, such as half an emoji, costs no turn, wherever it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from openclaw_workers.agent import loop
from openclaw_workers.config.models import Api
from openclaw_workers.domain.ids import MessageId
from openclaw_workers.domain.messages import MessageState, Route
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import NoticeEntry
from openclaw_workers.engine.turn import outcomes as endings
from openclaw_workers.store.turn_records import Outcome
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.wire_harness import wire_engine
from tests.support.wire import Called, Failure, Reply, WireServer
from tests.support.wire.behaviour import Behaviour

HALF = "a face: \ud83d"
APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "failure",
    [
        Failure(500, HALF, type="api_error"),
        Failure(500, "no", type="api_error", code=HALF),
        Reply("half", after=1, then="error", error={"message": HALF, "type": "api_error", "code": "odd"}),
    ],
    ids=["message", "code", "in the stream"],
)
def test_a_provider_whose_error_cannot_be_stored_is_one_failed_attempt(
    make_engine: MakeEngine, server: WireServer, api: Api, failure: Behaviour
) -> None:
    wired = wire_engine(make_engine, server, api=api, model={"primary": "b/m", "fallbacks": ["a/m"]})
    wired.plan("b1:m", failure, failure, failure)

    run = wired.turn()

    assert (run.state, run.text) == (RunState.OK, "a1:m")
    assert wired.asked() == ["b1:m", "a1:m"]
    (attempt,) = run.model_attempts
    assert attempt.model == "b/m"
    assert len(wired.ledger()) == 2


@pytest.mark.parametrize("api", APIS)
def test_a_turn_that_fails_with_such_an_error_ends_once(make_engine: MakeEngine, server: WireServer, api: Api) -> None:
    wired = wire_engine(make_engine, server, api=api, model={"primary": "b/m", "fallbacks": []})
    wired.plan("b1:m", Failure(400, HALF))

    run = wired.turn()

    assert (run.state, run.attempt) == (RunState.ERROR, 1)
    assert "a face: ?" in (run.error or "")
    assert wired.asked() == ["b1:m"]


@pytest.mark.parametrize("api", APIS)
def test_a_tool_call_whose_id_cannot_be_stored_is_carried_out(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    wired = wire_engine(make_engine, server, api=api, model="b/m")
    wired.plan("b1:m", Reply(calls=[Called("nothing", {"face": HALF}, id="call-\ud83d")]))

    run = wired.turn()

    assert (run.state, run.text) == (RunState.OK, "b1:m")


def test_an_unexpected_error_is_reported_without_what_cannot_be_stored(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError(HALF)

    monkeypatch.setattr(loop.AgentLoop, "run", fail)
    queued = engine.say("hello")
    with capture_logs():  # structlog prints as it is where no process has set up logging, and xdist cannot send that
        engine.work()

    run = engine.run_of(queued)
    assert (run.state, run.error) == (RunState.ERROR, "the turn failed unexpectedly: RuntimeError: a face: ?")


def test_the_last_resort_needs_nothing_of_what_failed(engine: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a turn ended with cannot be stored, and neither can what is told of that."""
    unstorable = Outcome(RunState.ERROR, "error", MessageState.FAILED, error=object())  # type: ignore[arg-type]
    monkeypatch.setattr(endings, "complete", lambda *_: unstorable)
    monkeypatch.setattr(endings, "failed", lambda *_: unstorable)
    queued = engine.say('{"steps": [{"text": "hi"}]}')
    engine.work()

    run = engine.run_of(queued)
    assert (run.state, run.error) == (RunState.ERROR, endings.UNSTORABLE)
    assert engine.receipt(queued).state is MessageState.FAILED
    assert isinstance(engine.log()[-1], NoticeEntry)
    after = engine.say("next")
    assert after.duplicate is None


def test_what_a_channel_calls_a_message_and_its_chat_is_stored_as_well_as_it_can_be(engine: EngineHarness) -> None:
    route = Route(channel="telegram", to=HALF, thread_id=HALF, account_id=HALF)
    queued = engine.say('{"steps": [{"text": "hi"}]}', route=route, message_id=MessageId(HALF), sender=HALF)
    engine.work()

    assert engine.run_of(queued).text == "hi"
    assert engine.stores.reader.row(SESSION)["lastTo"] == "a face: ?"
