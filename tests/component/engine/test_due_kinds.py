"""The sweeper's table: each kind of due item has one handler, and what belongs to none is left to newer workers."""

from __future__ import annotations

import threading

import pytest

import openclaw_workers.engine.sweep.sweeper as sweeper_module
from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.pace import SweepPace
from openclaw_workers.engine.sweep.sweeper import Sweeper
from openclaw_workers.errors import BadInput
from tests.component.engine.conftest import EngineHarness


def sweeper_of(engine: EngineHarness, *kinds: DueKind) -> Sweeper:
    return Sweeper(
        engine.stores.due,
        engine.stores.workers,
        engine.stores.reader,
        kinds,
        place_id=lambda: "",
        wanted=threading.Event(),
        pace=SweepPace(1),
    )


def make_due(engine: EngineHarness, *items: str) -> None:
    engine.stores.redis.zadd(engine.stores.keys.due, dict.fromkeys(items, 1))


def test_an_item_goes_to_the_handler_of_its_kind_by_the_rest_of_its_name(engine: EngineHarness) -> None:
    handled: list[str] = []
    make_due(engine, "one|a|b", "two|c")

    sweeper_of(engine, DueKind("one|", handled.append), DueKind("two|", lambda _: None)).sweep()

    assert handled == ["a|b"]


def test_slow_kinds_come_last(engine: EngineHarness) -> None:
    handled: list[str] = []
    make_due(engine, "slow|a", "quick|b")

    sweeper_of(engine, DueKind("slow|", handled.append, is_slow=True), DueKind("quick|", handled.append)).sweep()

    assert handled == ["b", "a"]


def test_paced_items_that_one_sweep_does_not_reach_are_due_at_once_for_all_sweepers(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled: list[str] = []

    def handle(name: str) -> None:
        handled.append(name)
        engine.stores.due.done(f"paced|{name}")

    monkeypatch.setattr(sweeper_module, "PACED_KINDS_SECONDS", -1.0)  # over before the first
    make_due(engine, "paced|a", "paced|b", "quick|c")
    kinds = (DueKind("paced|", handle, is_paced=True), DueKind("quick|", handled.append))
    sweeper_of(engine, *kinds).sweep()
    assert handled == ["c"]

    monkeypatch.undo()
    engine.stores.due.done("quick|c")
    sweeper_of(engine, *kinds).sweep()
    assert sorted(handled) == ["a", "b", "c"]


def test_a_handler_that_fails_keeps_no_other_from_its_items(engine: EngineHarness) -> None:
    handled: list[str] = []

    def fail(name: str) -> None:
        raise BadInput("not readable") if name == "a" else RuntimeError("broken")

    make_due(engine, "bad|a", "bad|b", "good|c")

    sweeper_of(engine, DueKind("bad|", fail), DueKind("good|", handled.append)).sweep()

    assert handled == ["c"]


def test_an_item_of_no_known_kind_is_left_to_a_newer_worker(engine: EngineHarness) -> None:
    make_due(engine, "from-the-future|a")
    older, handled = sweeper_of(engine), list[str]()

    older.sweep()
    assert engine.stores.redis.zcard(engine.stores.keys.due) == 1

    make_due(engine, "from-the-future|a")  # the claim of the older one is over
    sweeper_of(engine, DueKind("from-the-future|", handled.append)).sweep()
    assert handled == ["a"]
