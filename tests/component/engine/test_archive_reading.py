"""Archives that another host has: read through the service worker there, or named with the next step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from openclaw_workers.domain.ids import SessionId
from openclaw_workers.domain.runs import Run
from openclaw_workers.engine.archives.find import ArchiveFinder, ArchiveUnreachable
from openclaw_workers.engine.archives.lines import PAGE_BYTES, ArchivedRun, ArchiveLines
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.errors import NotFound
from openclaw_workers.state_dir import state_dir_shown
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.memory_turns import serving
from tests.support.programs import as_text, call, execute, program, say


@dataclass
class OtherHost:
    """A host that has only Redis in common with the engine's."""

    finder: ArchiveFinder

    def texts(self, run: Run) -> str:
        return "\n".join(self.finder.lines_of(run))


@pytest.fixture
def other(engine: EngineHarness, tmp_path: Path) -> OtherHost:
    stores = engine.stores
    return OtherHost(ArchiveFinder(stores.archives, PlaceClient(stores.place_requests), tmp_path / "other"))


def archived(engine: EngineHarness, text: str = "the answer") -> Run:
    """A run whose session was reset and archived here."""
    queued = engine.say(as_text(program(say(text))))
    engine.work()
    run = engine.run_of(queued)
    engine.control.reset(SESSION)
    engine.archive_all()
    return run


def test_another_host_reads_an_archive_through_the_place_that_has_it(engine: EngineHarness, other: OtherHost) -> None:
    engine.say(as_text(program(say("of another run"))))
    engine.work()
    run = archived(engine)
    with serving(engine):
        found = other.texts(run)
    assert "the answer" in found
    assert "of another run" not in found


def test_a_journal_of_many_pages_is_read_whole(engine: EngineHarness, other: OtherHost) -> None:
    long = "head -c 40000 /dev/zero | tr '\\0' x; echo"
    queued = engine.say(as_text(program(*[call(execute(long))] * 20, say("done"))))
    engine.work()
    run = engine.run_of(queued)
    before = engine.stores.reader.stored_entries(SESSION)
    engine.control.reset(SESSION)
    engine.archive_all()
    assert sum(map(len, before)) > 2 * PAGE_BYTES
    with serving(engine):
        assert other.finder.lines_of(run) == before


def test_after_the_place_is_forgotten_all_are_asked(engine: EngineHarness, other: OtherHost) -> None:
    run = archived(engine)
    engine.stores.redis.delete(engine.stores.keys.archiving(run.session_id or ""))
    engine.stores.redis.hset(engine.stores.keys.archive_places, "0" * 32, "gone:/nowhere")
    with serving(engine):
        assert "the answer" in other.texts(run)


def test_a_place_that_does_not_answer_is_named_with_the_next_step(engine: EngineHarness, other: OtherHost) -> None:
    run = archived(engine)
    with pytest.raises(ArchiveUnreachable) as caught:
        other.texts(run)
    assert state_dir_shown(engine.loaded.state_dir) in caught.value.message
    assert "ocw worker --lane service" in (caught.value.hint or "")


def test_what_waits_to_be_written_is_read_from_redis(engine: EngineHarness, other: OtherHost) -> None:
    queued = engine.say(as_text(program(say("not on disk yet"))))
    engine.work()
    run = engine.run_of(queued)
    engine.control.reset(SESSION)
    assert "not on disk yet" in other.texts(run)


def test_a_run_without_an_archive_has_no_journal(engine: EngineHarness, other: OtherHost) -> None:
    run = archived(engine)
    unknown = run.model_copy(update={"session_id": SessionId("unknown")})
    with serving(engine):
        assert other.texts(unknown) == ""
        assert other.finder.lines_of(run.model_copy(update={"session_id": None})) == []


@pytest.mark.parametrize(("agent", "session"), [("../x", "s"), ("main", "../../s"), (".", "s")])
def test_no_other_file_can_be_asked_for(tmp_path: Path, agent: str, session: str) -> None:
    with pytest.raises(NotFound):
        ArchiveLines(tmp_path).page(ArchivedRun(agent, session, str(SESSION), "run-1"), 0)
