"""The files of an agent move from one host to another through Redis, whatever dies on the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.moves.mover import Mover
from openclaw_workers.engine.moves.source import MoveSource
from openclaw_workers.engine.moves.target import MoveFailed, MoveTarget
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.place_id import WORKSPACE_FILE, make_place, seen_place
from openclaw_workers.store.moves import PIECE_BYTES, Move, Moves
from tests.component.engine.conftest import EngineHarness
from tests.support.programs import as_text, call, execute, program, say
from tests.support.waiting import eventually

PLACE = "c" * 32


class Crashed(Exception):
    """The worker died here."""


def fill(workspace: Path) -> None:
    """Files of all kinds: empty, larger than a piece, without rights to write, links, and names that are no text."""
    (workspace / "notes" / "deep").mkdir(parents=True)
    (workspace / "notes" / "a.txt").write_text("a")
    (workspace / "notes" / "deep" / "b.bin").write_bytes(os.urandom(PIECE_BYTES * 2 + 17))
    (workspace / "empty").touch()
    (workspace / "nothing").mkdir()
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "link").symlink_to("notes/a.txt")
    (workspace / "away").symlink_to("/nowhere")
    Path(os.fsdecode(bytes(workspace) + b"/caf\xe9")).write_text("latin")
    os.mkfifo(workspace / "pipe")


def picture(workspace: Path) -> dict[str, tuple[Any, ...]]:
    """What lies in a workspace: kind, rights, time and content of each file."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(workspace.rglob("*")):
        name, state = str(path.relative_to(workspace)), path.lstat()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("directory", state.st_mode)
        elif path.is_file() and name != WORKSPACE_FILE:
            found[name] = ("file", state.st_mode, state.st_mtime_ns, path.read_bytes())
    return found


@pytest.fixture
def old(tmp_path: Path) -> Path:
    workspace = tmp_path / "one" / "workspace"
    make_place(workspace)
    fill(workspace)
    return workspace


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "two" / "workspace"


class Wire:
    """Asks a source, and remembers what was asked."""

    def __init__(self, workspace: Path, dies_after: int = 1_000_000) -> None:
        self._source = MoveSource(workspace)
        self._left = dies_after
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def __call__(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._left == 0:
            raise Crashed
        self._left -= 1
        self.asked.append((operation, arguments))
        return self._source.answer({"operation": operation, **arguments})

    @property
    def reads(self) -> list[str]:
        return [arguments["path"] for operation, arguments in self.asked if operation == "read"]


def target(new: Path, ask: Callable[[str, Mapping[str, Any]], dict[str, Any]]) -> MoveTarget:
    return MoveTarget(new, "m1", PLACE, ask, lambda done, total, copied: None)


def test_everything_arrives_as_it_was(old: Path, new: Path) -> None:
    to = target(new, Wire(old))
    to.copy()
    assert not new.exists()

    assert to.put_in_place() is None

    assert picture(new) == picture(old)
    assert seen_place(new) == PLACE
    assert os.listdir(new.parent) == ["workspace"]


@pytest.mark.parametrize("pieces", range(1, 12, 2))
def test_a_copy_that_was_cut_off_goes_on_where_it_ended(old: Path, new: Path, pieces: int) -> None:
    first, second = Wire(old, dies_after=pieces), Wire(old)
    try:
        target(new, first).copy()
    except Crashed:
        assert not new.exists()

    to = target(new, second)
    to.copy()
    to.put_in_place()

    assert picture(new) == picture(old)
    done = first.reads[:-1] if first.reads else []
    complete = {path for path in done if path != "notes/deep/b.bin"}
    assert complete.isdisjoint(second.reads)


def test_what_lay_there_is_kept(old: Path, new: Path) -> None:
    make_place(new)
    (new / "mine").write_text("kept")
    to = target(new, Wire(old))
    to.copy()

    kept = to.put_in_place()

    assert kept is not None
    assert (kept / "mine").read_text() == "kept"
    assert picture(new) == picture(old)


@pytest.mark.parametrize("step", ["moved aside", "renamed"])
def test_a_crash_while_the_files_are_put_in_place(old: Path, new: Path, step: str) -> None:
    make_place(new)
    to = target(new, Wire(old))
    to.copy()
    if step == "renamed":
        to.put_in_place()
    else:
        new.rename(new.with_name("workspace.before-m1"))

    again = target(new, Wire(old))
    again.copy()
    again.put_in_place()

    assert picture(new) == picture(old)
    assert seen_place(new) == PLACE


def test_a_file_that_changes_meanwhile_is_copied_again(old: Path, new: Path) -> None:
    wire = Wire(old)

    def ask(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        answer = wire(operation, arguments)
        if wire.reads == ["empty"] or (operation == "read" and len(wire.reads) == 1):
            (old / "notes" / "a.txt").write_text("changed")
            (old / "late").write_text("late")
        return answer

    to = target(new, ask)
    to.copy()
    to.put_in_place()
    assert picture(new) == picture(old)


def test_a_file_that_cannot_be_read_is_named(old: Path, new: Path) -> None:
    def ask(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "read":
            return {"error": "Permission denied", "path": arguments["path"]}
        return MoveSource(old).answer({"operation": operation, **arguments})

    with pytest.raises(MoveFailed, match="cannot be read: Permission denied"):
        target(new, ask).copy()
    assert not new.exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../state-id", "a/../../b", ""])
def test_nothing_outside_the_workspace_is_read_or_written(old: Path, new: Path, path: str) -> None:
    assert "error" in MoveSource(old).answer({"operation": "read", "path": path, "offset": 0})
    listed = {"entries": [[path, "file", 0o644, 1, 1, ""]], "total": 1}
    with pytest.raises(MoveFailed, match="outside the workspace"):
        target(new, lambda operation, arguments: listed).copy()


@pytest.fixture
def movers(engine: EngineHarness, old: Path, new: Path) -> Iterator[Callable[[str], Mover]]:
    made: list[Mover] = []

    def make(host: str) -> Mover:
        places = HostPlaces({"main": old if host == "one" else new})
        made.append(Mover(engine.stores.moves, places, host))
        return made[-1]

    yield make
    for mover in made:
        mover.stop()


def bind(engine: EngineHarness, workspace: Path) -> None:
    engine.stores.redis.hset(engine.stores.keys.places, "main", seen_place(workspace))


def over(moves: Moves, move: Move) -> Move | None:
    found = moves.get(move.id)
    return found if found.is_over else None


def test_two_service_workers_move_the_files_through_redis(
    engine: EngineHarness, movers: Callable[[str], Mover], old: Path, new: Path
) -> None:
    bind(engine, old)
    moves = engine.stores.moves
    move = moves.begin("main", "two", PLACE, with_files=True)
    for host in ("one", "two"):
        movers(host).noticed({"main": move.id})

    ended = eventually(lambda: over(moves, move), within=30)

    assert (ended.state, ended.error, ended.files_done) == ("done", "", ended.files)
    assert picture(new) == picture(old)
    bound = engine.stores.places.of("main")
    assert bound is not None
    assert bound.place == PLACE == seen_place(new)
    assert seen_place(old) not in ("", PLACE)
    assert moves.current("main") is None


def test_a_move_waits_for_the_host_that_has_the_files(
    engine: EngineHarness, movers: Callable[[str], Mover], old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openclaw_workers.engine.moves.mover.SILENCE_SECONDS", 0.5)
    bind(engine, old)
    moves = engine.stores.moves
    move = moves.begin("main", "two", PLACE, with_files=True)
    movers("two").noticed({"main": move.id})
    eventually(lambda: moves.get(move.id).waits, within=20)

    movers("one").noticed({"main": move.id})

    assert eventually(lambda: over(moves, move), within=30).state == "done"
    assert moves.get(move.id).waits == ""


def test_without_files_it_begins_empty(
    engine: EngineHarness, movers: Callable[[str], Mover], old: Path, new: Path
) -> None:
    bind(engine, old)
    moves = engine.stores.moves
    move = moves.begin("main", "two", PLACE, with_files=False)
    movers("two").noticed({"main": move.id})

    assert eventually(lambda: over(moves, move), within=20).state == "done"
    assert os.listdir(new) == [WORKSPACE_FILE]
    assert picture(old)


def test_a_cancelled_move_leaves_everything_as_it_was(engine: EngineHarness, old: Path, new: Path) -> None:
    bind(engine, old)
    moves = engine.stores.moves
    move = moves.begin("main", "two", PLACE, with_files=True)

    assert moves.end(move, "cancelled")

    assert not moves.end(move, "done")
    bound = engine.stores.places.of("main")
    assert bound is not None
    assert bound.place == seen_place(old)


def test_an_agent_at_work_is_not_moved_and_a_moving_one_takes_no_turn(engine: EngineHarness) -> None:
    moves = engine.stores.moves
    with pytest.raises(NotFound, match="has no files yet"):
        moves.begin("main", "two", PLACE, with_files=True)
    gate = engine.loaded.state_dir / "open"
    engine.say(as_text(program(call(execute(f"until [ -e {gate} ]; do sleep 0.05; done")), say("done"))))
    working = threading.Thread(target=engine.work)
    working.start()
    eventually(engine.stores.reader.running, within=20)

    with pytest.raises(ConflictError, match="is running"):
        moves.begin("main", "two", PLACE, with_files=True)
    gate.touch()
    working.join(30)
    assert not working.is_alive()

    move = moves.begin("main", "two", PLACE, with_files=True)
    with pytest.raises(ConflictError, match="being moved already"):
        moves.begin("main", "three", PLACE, with_files=True)
    queued = engine.say(as_text(program(say("hi"))))
    assert engine.work() == 0
    assert (engine.ctl("state"), engine.ctl("attempt"), engine.waker.places) == ("queued", "1", [])

    assert moves.end(move, "cancelled")
    engine.waker.turn(queued.session_key, queued.run)  # type: ignore[arg-type]
    engine.work()
    assert engine.run_of(queued).state is RunState.OK
