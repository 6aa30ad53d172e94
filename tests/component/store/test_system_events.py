"""System events: told once in the next turn, before what people said, bounded, and archived by a reset."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.system_event import PROVENANCE, SystemEvent
from openclaw_workers.store.inbox import Accepted
from tests.component.store.harness import SESSION, StoreHarness, texts


def event(text: str, *, key: str | None = None) -> SystemEvent:
    return SystemEvent(source="test", text=text, key=key or text, shown=f"[test] {text}")


def wake(store: StoreHarness, text: str) -> Accepted:
    accepted = store.say(f"wake-{text}", kind="internal", metadata={"provenance": PROVENANCE}, event=event(text))
    assert isinstance(accepted, Accepted)
    return accepted


def seen(store: StoreHarness) -> list[tuple[str | None, list[str]]]:
    return [(entry.provenance, texts(entry)) for entry in store.users()]


@pytest.fixture
def idle(store: StoreHarness) -> StoreHarness:
    """A session that exists and does nothing."""
    store.say("hello")
    store.commit(store.take())
    return store


def test_events_are_reported_before_the_message_of_the_next_turn(idle: StoreHarness) -> None:
    assert idle.system_events.add(SESSION, event("deployed")) == "added"
    assert idle.system_events.add(SESSION, event("failed")) == "added"
    assert idle.ctl("state") == "idle"
    idle.say("what is new?")
    idle.take()
    assert seen(idle)[1:] == [
        (PROVENANCE, ["[test] deployed", "[test] failed"]),
        (None, ["what is new?"]),
    ]
    assert idle.system_events.waiting(SESSION) == []


def test_an_event_is_reported_once(idle: StoreHarness) -> None:
    idle.system_events.add(SESSION, event("deployed"))
    idle.say("one")
    idle.commit(idle.take())
    assert idle.system_events.add(SESSION, event("deployed")) == "known"
    idle.say("two")
    idle.take()
    assert [provenance for provenance, _ in seen(idle)].count(PROVENANCE) == 1


def test_a_session_that_does_not_exist_is_not_created(store: StoreHarness) -> None:
    assert store.system_events.add(SESSION, event("deployed")) == "missing"
    assert store.redis.keys("*system_events*") == []


def test_an_event_that_wakes_opens_a_turn_that_tells_it(idle: StoreHarness) -> None:
    accepted = wake(idle, "deployed")
    assert accepted.run is not None
    taken = idle.take()
    assert seen(idle)[1:] == [(PROVENANCE, ["[test] deployed"])]
    idle.commit(taken)
    assert idle.states("wake-deployed") == ["answered"]


def test_further_events_join_the_wake_up_that_waits(idle: StoreHarness) -> None:
    idle.say("busy")
    running = idle.take()
    wake(idle, "one")
    joined = wake(idle, "two")
    assert joined.duplicate is not None
    assert idle.waiting() == ["wake-one"]
    idle.commit(running)
    idle.take()
    assert seen(idle)[-1] == (PROVENANCE, ["[test] one", "[test] two"])


def test_a_turn_of_a_person_answers_the_wake_up_too(idle: StoreHarness) -> None:
    idle.say("busy")
    running = idle.take()
    idle.say("a question")
    wake(idle, "deployed")
    idle.commit(running)
    taken = idle.take()
    assert seen(idle)[-2:] == [(PROVENANCE, ["[test] deployed"]), (None, ["a question"])]
    idle.commit(taken)
    assert idle.states("a question", "wake-deployed") == ["answered", "answered"]
    assert idle.ctl("state") == "idle"


def test_a_wake_up_after_its_event_was_reported_is_another_one(idle: StoreHarness) -> None:
    wake(idle, "one")
    idle.commit(idle.take())
    wake(idle, "two")
    idle.take()
    assert seen(idle)[-1] == (PROVENANCE, ["[test] two"])


def test_the_same_event_wakes_once(idle: StoreHarness) -> None:
    wake(idle, "one")
    idle.commit(idle.take())
    assert wake(idle, "one").duplicate is not None
    repeated = idle.say("another id", kind="internal", metadata={"provenance": PROVENANCE}, event=event("one"))
    assert isinstance(repeated, Accepted)
    assert repeated.duplicate is not None
    assert idle.ctl("state") == "idle"


def test_a_command_leaves_events_for_the_turn_after_it(idle: StoreHarness) -> None:
    idle.say("/compact", kind="command")
    idle.system_events.add(SESSION, event("deployed"))
    idle.commit(idle.take())
    assert len(idle.system_events.waiting(SESSION)) == 1
    idle.say("one")
    idle.take()
    assert seen(idle)[-2] == (PROVENANCE, ["[test] deployed"])


def test_events_are_bounded_by_number_and_what_is_left_out_is_reported(idle: StoreHarness) -> None:
    for index in range(60):
        idle.system_events.add(SESSION, event(str(index)))
    idle.say("one")
    idle.take()
    _, shown = seen(idle)[-2]
    assert shown[0] == "[10 earlier system event(s) were dropped because too many waited]"
    assert shown[1:] == [f"[test] {index}" for index in range(10, 60)]


def test_events_are_bounded_by_size(idle: StoreHarness) -> None:
    for index in range(10):
        idle.system_events.add(SESSION, event("x" * 16_000, key=str(index)))
    waiting = idle.system_events.waiting(SESSION)
    assert len(waiting) == 2
    assert waiting[-1].key == "9"


def test_a_reset_archives_events_that_were_not_reported(idle: StoreHarness) -> None:
    old = idle.row()["sessionId"]
    idle.system_events.add(SESSION, event("deployed"))
    idle.say("two")
    idle.take_stale()
    assert seen(idle) == [(None, ["two"])]
    _, entries = idle.archive(old)
    assert "[test] deployed" in entries[-1]


@pytest.mark.parametrize("by_command", [True, False])
def test_a_reset_by_hand_archives_them_too(idle: StoreHarness, by_command: bool) -> None:
    old = idle.row()["sessionId"]
    idle.system_events.add(SESSION, event("deployed"))
    if by_command:
        idle.say("/new", kind="command")
        idle.commit(idle.take(), reset=True)
    else:
        idle.sessions.reset(SESSION, Lane.MAIN, cap=0)
    assert idle.system_events.waiting(SESSION) == []
    _, entries = idle.archive(old)
    assert "[test] deployed" in entries[-1]


def test_a_deleted_session_keeps_no_events(idle: StoreHarness) -> None:
    idle.system_events.add(SESSION, event("deployed"))
    idle.sessions.delete(SESSION, Lane.MAIN, cap=0)
    assert idle.redis.keys("*system_events*") == []
