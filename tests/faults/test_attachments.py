"""A worker that is killed while it writes a sent file leaves it to the next one: whole, once, and not in Redis."""

from __future__ import annotations

import hashlib
import os

import pytest

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.sent_files import SentFile
from openclaw_workers.store.file_chunks import CHUNK_BYTES, FileChunks
from openclaw_workers.store.uploads import Uploads
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place
from tests.support.fleet import session_key
from tests.support.programs import as_text, call, execute, program, say

LOOK = as_text(program(call(execute("sha256sum .openclaw/inbox/*/*-big.bin")), say("seen")))


@pytest.mark.parametrize(
    "moment",
    [f"{place(FileChunks._chunk)}:3", f"{place(Uploads.discard)}:1"],
    ids=["between chunks", "after the file was written"],
)
def test_a_killed_worker_leaves_the_file_to_the_next_one(make_fleet: MakeFleet, moment: str) -> None:
    fleet = make_fleet()
    content = os.urandom(CHUNK_BYTES * 3 + 7)
    first = fleet.worker(**faulty(die=moment))
    queued = fleet.intake.accept(
        LOOK,
        session=session_key("main"),
        route=Route(channel="test", to="main"),
        authority=Authority.OWNER,
        files=[SentFile("big.bin", content)],
    )
    assert isinstance(queued, Queued)
    assert first.wait() == -9
    fleet.worker()

    outcome = fleet.outcome(queued, within=60)

    assert outcome.text == "seen"
    result = fleet.transcript("main")[2]
    assert hashlib.sha256(content).hexdigest() in result.content[0].text  # type: ignore[union-attr]
    files = [path for path in (fleet.workspace / ".openclaw/inbox").rglob("*") if path.is_file()]
    assert [path.read_bytes() == content for path in files] == [True], "one file, and nothing half-written beside it"
    assert list(fleet.stores.redis.scan_iter(fleet.stores.keys.upload("*"))) == []
