"""The journal in Redis: deltas gathered, writes repeated, and what it learns from each answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.turn.journal import COALESCE_SECONDS, RedisJournal, persist
from openclaw_workers.engine.worker.state import RunHandle, WorkerState
from openclaw_workers.errors import LeaseLost, StoreUnavailable, TurnAborted, TurnHandedOver
from openclaw_workers.store.turn_records import Lease, Taken
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.redis_server import RedisServer

SAID = AssistantEntry(content=[TextBlock(text="said")])


def take(engine: EngineHarness) -> Taken:
    engine.say("hi")
    return engine.take()


def call_log_of(handle: RunHandle) -> CallLog:
    return CallLog(handle.lease.run, SESSION, "main", SESSION, lambda *_: 0.0)


@pytest.fixture
def handle(engine: EngineHarness) -> RunHandle:
    return RunHandle(take(engine).lease, seconds_left=60)


@pytest.fixture
def journal(engine: EngineHarness, handle: RunHandle) -> RedisJournal:
    return RedisJournal(engine.turns, handle, engine.process, call_log_of(handle), step=0)


def deltas(engine: EngineHarness) -> list[str]:
    events = engine.stores.reader.events(SESSION, "0")
    return [event.data["text"] for event in events if event.type == "text.delta"]


def test_text_is_gathered_into_few_events_that_join_to_the_whole(engine: EngineHarness, journal: RedisJournal) -> None:
    words = [f"{n} " for n in range(1_000)]
    for word in words:
        journal.text(word)
    journal.flush()

    shown = deltas(engine)
    assert "".join(shown) == "".join(words)
    assert len(shown) < 50


def test_what_has_gathered_goes_out_with_the_step_in_order(engine: EngineHarness, journal: RedisJournal) -> None:
    journal.text("one ")
    journal.show("tool.started", {"call": "c"})
    journal.text("two ")
    journal.text("three")
    assert deltas(engine) == []

    journal.record([SAID])

    assert engine.events()[-3:] == ["text.delta", "tool.started", "text.delta"]
    assert deltas(engine) == ["one ", "two three"]
    journal.flush()
    assert deltas(engine) == ["one ", "two three"]


@pytest.mark.parametrize("next_sent_by", ["flush", "step"])
def test_text_stays_in_order_when_the_ticker_is_slow_to_send(
    engine: EngineHarness, handle: RunHandle, journal: RedisJournal, monkeypatch: pytest.MonkeyPatch, next_sent_by: str
) -> None:
    begun, may_send, emit = threading.Event(), threading.Event(), engine.turns.emit

    def slow(lease: Lease, events: Sequence[dict[str, Any]]) -> None:
        if threading.current_thread().name == "ticker":
            begun.set()
            may_send.wait(20)
        emit(lease, events)

    monkeypatch.setattr(engine.turns, "emit", slow)
    journal.text("one ")
    time.sleep(2 * COALESCE_SECONDS)  # no synchronisation: it is old enough to be sent
    ticker = threading.Thread(target=journal.flush_if_old, name="ticker", daemon=True)
    ticker.start()
    assert begun.wait(20)

    def go_on() -> None:
        journal.text("two")
        if next_sent_by == "flush":
            journal.flush()
        else:
            journal.record([SAID])

    turn = threading.Thread(target=go_on, daemon=True)
    turn.start()
    turn.join(0.3)
    may_send.set()
    for thread in (ticker, turn):
        thread.join(20)

    assert "".join(deltas(engine)) == "one two"


def test_a_tick_does_not_wait_for_a_step_that_redis_is_slow_to_take(
    engine: EngineHarness, handle: RunHandle, journal: RedisJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ticker renews the leases of the whole process."""
    begun, may_end, step = threading.Event(), threading.Event(), engine.turns.step

    def slow(*args: Any, **more: Any) -> Any:
        begun.set()
        may_end.wait(20)
        return step(*args, **more)

    monkeypatch.setattr(engine.turns, "step", slow)
    turn = threading.Thread(target=lambda: journal.record([SAID]), daemon=True)
    turn.start()
    assert begun.wait(20)
    journal.text("meanwhile")
    time.sleep(2 * COALESCE_SECONDS)  # no synchronisation: it is old enough to be sent

    journal.flush_if_old()
    shown = deltas(engine)
    may_end.set()
    turn.join(20)
    journal.flush()

    assert (shown, deltas(engine)) == ([], ["meanwhile"])


def test_before_a_slow_tool_everything_is_on_screen(engine: EngineHarness, journal: RedisJournal) -> None:
    journal.text("let me look")
    journal.allow(60)
    assert deltas(engine) == ["let me look"]


def test_steps_are_numbered_and_steered_messages_come_back_parsed(engine: EngineHarness, journal: RedisJournal) -> None:
    engine.stores.sessions.patch(SESSION, {"queueMode": QueueMode.STEER})
    engine.say("look at the other one")

    assert journal.record([SAID]) == []
    (steered,) = journal.record([SAID], may_steer=True)

    assert steered.content[0].text == "look at the other one"
    assert engine.ctl("step") == "2"


def test_a_stop_is_raised_after_the_entries_are_recorded(engine: EngineHarness, journal: RedisJournal) -> None:
    engine.control.stop_session(SESSION)
    with pytest.raises(TurnAborted, match="killed"):
        journal.record([SAID])
    assert len(engine.log()) == 2


def test_a_leaving_worker_records_but_starts_nothing_and_steers_nobody(
    engine: EngineHarness, journal: RedisJournal
) -> None:
    engine.stores.sessions.patch(SESSION, {"queueMode": QueueMode.STEER})
    engine.say("join")
    engine.process.shutdown.begin()

    with pytest.raises(TurnHandedOver):
        journal.record([SAID], starting="call-1", may_steer=True)

    assert len(engine.log()) == 2
    assert engine.ctl("started") == ""
    assert len(engine.stores.inbox.waiting(SESSION)) == 1


def test_a_lost_lease_stops_the_turn_from_a_step_and_from_shown_text(
    engine: EngineHarness, handle: RunHandle, journal: RedisJournal
) -> None:
    engine.control.reset(SESSION)
    with pytest.raises(LeaseLost):
        journal.record([SAID])
    assert handle.cancel.reason is None
    journal.text("into the void")
    journal.flush()
    assert isinstance(handle.cancel.reason, LeaseLost)


def failing(times: int) -> Callable[[], str]:
    left = iter(range(times))

    def write() -> str:
        if next(left, None) is not None:
            raise StoreUnavailable("away")
        return "written"

    return write


def test_a_write_is_repeated_until_redis_has_taken_it() -> None:
    assert persist(failing(2), WorkerState(grace_seconds=30)) == "written"


def test_a_leaving_process_does_not_wait_for_redis_for_ever() -> None:
    process = WorkerState(grace_seconds=0.5)
    process.shutdown.begin()
    with pytest.raises(StoreUnavailable):
        persist(failing(1), process)


def test_a_leaving_process_gives_up_a_second_before_its_end_and_does_not_sleep_past_it() -> None:
    process = WorkerState(grace_seconds=1.35)
    process.shutdown.begin()
    with pytest.raises(StoreUnavailable):
        persist(failing(100), process)
    assert process.shutdown.grace_left() > 0.8


def test_a_refused_write_is_not_repeated() -> None:
    calls = []

    def write() -> None:
        calls.append(1)
        raise LeaseLost("taken over")

    with pytest.raises(LeaseLost):
        persist(write, WorkerState(grace_seconds=30))
    assert len(calls) == 1


def test_text_that_redis_did_not_take_is_dropped_and_never_sent_twice(
    make_engine: Callable[..., EngineHarness],
) -> None:
    """A repeated `emit` would show text twice; viewers read the transcript in the end."""
    with RedisServer() as server:
        engine = make_engine({"engine": {"acceptTimeoutSeconds": 0.2}}, url=server.url)
        handle = RunHandle(take(engine).lease, seconds_left=60)
        journal = RedisJournal(engine.turns, handle, engine.process, call_log_of(handle), step=0)
        server.stop()
        try:
            journal.text("cut off")
            journal.flush()
        finally:
            server.cont()
        journal.text("after")
        journal.flush()

        assert deltas(engine) in (["cut off", "after"], ["after"])
        assert handle.cancel.reason is None
