"""Two hosts on one Redis: turns run only where the files of their agent are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.place_id import WORKSPACE_FILE, make_place, seen_place
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.support.programs import as_text, program, say, spawn

HI = as_text(program(say("hi")))


@pytest.fixture
def two(make_engine: MakeEngine, tmp_path: Path) -> tuple[EngineHarness, EngineHarness]:
    """Two hosts with directories of their own."""
    return make_engine(), make_engine(state_dir=tmp_path / "two")


def deliver(engine: EngineHarness, to: EngineHarness) -> None:
    """The wake-ups that the one has published reach the other."""
    to.waker.turns += engine.waker.turns
    engine.waker.turns.clear()


def test_the_first_turn_makes_the_place(engine: EngineHarness) -> None:
    queued = engine.say(HI)
    workspace = engine.built.agents.workspace("main")
    assert seen_place(workspace) == ""

    engine.work()

    assert engine.run_of(queued).state is RunState.OK
    bound = engine.stores.places.of("main")
    assert bound is not None
    assert bound.place == seen_place(workspace) != ""


def test_turns_that_make_the_place_at_the_same_time_all_run_here(engine: EngineHarness) -> None:
    queued = [engine.say(HI, SessionKey(f"agent:main:s{number}")) for number in range(16)]
    wakes = [engine.waker.turns.pop() for _ in queued]

    with ThreadPoolExecutor(16) as pool:
        ended = list(pool.map(lambda wake: engine.runner.run(*wake), wakes))

    assert ended == [RunState.OK] * 16
    assert engine.waker.places == []


def test_a_host_passes_on_what_it_does_not_see(two: tuple[EngineHarness, EngineHarness]) -> None:
    one, other = two
    one.say(HI)
    one.work()
    place = seen_place(one.built.agents.workspace("main"))
    queued = one.say(HI)
    deliver(one, other)

    assert other.work_once() is None

    assert other.waker.places == [place]
    assert (other.ctl("state"), other.ctl("attempt")) == ("queued", "1")
    deliver(other, one)
    one.work()
    assert one.run_of(queued).state is RunState.OK


def test_hosts_that_share_the_directory_both_run_its_turns(make_engine: MakeEngine, tmp_path: Path) -> None:
    shared = {"agents": {"defaults": {"workspace": str(tmp_path / "shared")}}}
    one, other = make_engine(shared), make_engine(shared, state_dir=tmp_path / "two")
    one.say(HI)
    one.work()
    queued = one.say(HI)
    deliver(one, other)

    other.work()

    assert other.run_of(queued).state is RunState.OK


def test_an_agent_with_place_any_runs_on_every_host(make_engine: MakeEngine, tmp_path: Path) -> None:
    anywhere = {"agents": {"defaults": {"workspace": {"place": "any"}}}}
    one, other = make_engine(anywhere), make_engine(anywhere, state_dir=tmp_path / "two")
    one.say(HI)
    one.work()
    queued = one.say(HI)
    deliver(one, other)

    other.work()

    assert other.run_of(queued).state is RunState.OK
    assert one.stores.places.all() == []


def test_a_sub_agent_runs_where_its_agent_does(two: tuple[EngineHarness, EngineHarness]) -> None:
    one, other = two
    one.say(HI)
    one.work()
    place = seen_place(one.built.agents.workspace("main"))
    one.say(as_text(program(spawn(program(say("done"))), say("spawned"))))
    one.work_once()
    (child,) = [(session, run) for session, run in one.waker.turns if "subagent" in session]

    assert other.runner.run(*child, is_header=True) is None
    assert other.waker.places == [place]
    assert one.runner.run(*child, is_header=True) is RunState.OK


def test_an_agent_with_a_workspace_that_cannot_be_made_fails_visibly(make_engine: MakeEngine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    engine = make_engine({"agents": {"defaults": {"workspace": str(tmp_path / "file" / "inside")}}})
    queued = engine.say(HI)
    engine.work()
    assert engine.run_of(queued).state is RunState.ERROR
    assert engine.stores.places.all() == []


def test_the_id_is_restored_where_a_command_removed_it(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    host = HostPlaces({"main": tmp_path})
    assert host.seen("main") == place

    (tmp_path / WORKSPACE_FILE).unlink()

    assert host.seen("main") == place
    assert seen_place(tmp_path) == place


def test_the_id_is_not_restored_in_another_directory_of_the_same_name(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    make_place(workspace)
    host = HostPlaces({"main": workspace})
    host.seen("main")

    workspace.rename(tmp_path / "old")
    workspace.mkdir()

    assert host.seen("main") == ""
    assert seen_place(workspace) == ""
