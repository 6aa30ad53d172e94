"""Session tools find sessions by indexes: a turn must not read every session of a large installation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.engine.client_graph import control_of
from openclaw_workers.engine.routing.session_labels import sessions_labelled
from openclaw_workers.engine.sessions import views
from openclaw_workers.store.reader import Reader
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.session_steps import OTHER, run_on, text, tool_answers, use
from tests.component.engine.test_session_tools import listed, spoken, with_child
from tests.support.programs import program, say, spawn

THIRD = SessionKey("agent:main:third")


@pytest.fixture
def no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(*_: object, **__: object) -> Iterator[object]:
        raise AssertionError("every session is read")

    monkeypatch.setattr(Reader, "each_session", scan)


@pytest.mark.usefixtures("no_scan")
def test_a_message_by_label_reads_no_other_sessions(engine: EngineHarness) -> None:
    spoken(engine, OTHER, THIRD)
    engine.stores.sessions.patch(OTHER, {"label": "notes"})
    engine.say(text(use("sessions_send", label="notes", message=text(say("heard")), timeoutSeconds=5), say("done")))
    run_on(engine)

    (answer, *_) = tool_answers(engine)
    assert (answer["status"], answer["reply"], answer["sessionKey"]) == ("ok", "heard", OTHER)


@pytest.mark.usefixtures("no_scan")
def test_a_sub_agent_lists_itself_and_what_it_spawned_without_reading_others(engine: EngineHarness) -> None:
    spoken(engine, OTHER)
    child = with_child(engine, spawn(program(say("leaf"))), say("waiting"), say("done"))
    engine.work()
    (leaf,) = [run.session_key for run in engine.stores.tree.children(child)]

    assert set(listed(engine, child)) == {child, leaf}
    assert listed(engine, leaf) == [leaf]


def test_what_was_spawned_is_listed_after_its_run_record_has_expired(engine: EngineHarness) -> None:
    child = with_child(engine, spawn(program(say("leaf"))), say("waiting"), say("done"))
    engine.work()
    (leaf,) = engine.stores.tree.children(child)
    engine.stores.redis.delete(engine.stores.keys.run(leaf.id))

    assert set(listed(engine, child)) == {child, leaf.session_key}


def test_a_deleted_session_leaves_both_indexes(engine: EngineHarness) -> None:
    child = with_child(engine, label="worker")
    engine.work()
    reader, keys = engine.stores.reader, engine.stores.keys
    assert [entry.session_key for entry in reader.labelled("worker")] == [child]

    control_of(engine.stores, engine.waker).delete(child)

    assert reader.labelled("worker") == []
    assert reader.spawned(SESSION) == []
    assert engine.stores.redis.exists(keys.label("worker"), keys.spawned(SESSION)) == 0


def test_a_label_that_is_changed_or_cleared_leads_nowhere(engine: EngineHarness) -> None:
    spoken(engine, OTHER)
    for label in ("old", "old", "new"):
        engine.stores.sessions.patch(OTHER, {"label": label})

    assert sessions_labelled(engine.stores.reader, "old", besides=SESSION) == []
    assert sessions_labelled(engine.stores.reader, "new", besides=SESSION) == [OTHER]

    engine.stores.sessions.patch(OTHER, {"label": ""})
    assert engine.stores.redis.exists(engine.stores.keys.label("new")) == 0


def test_a_list_of_all_sessions_looks_at_a_bounded_number(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_LOOKED_AT", 2)
    spoken(engine, SESSION, THIRD, OTHER)

    assert listed(engine) == [OTHER, THIRD]
