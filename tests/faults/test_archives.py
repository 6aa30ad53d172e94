"""A reset or deletion archives the old transcript exactly once, including results that arrive after it."""

from __future__ import annotations

import json
from collections import Counter

from openclaw_workers.domain.runs import Run
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw
from tests.support.programs import program, say, spawn
from tests.support.tree import check_tree, children_of
from tests.support.waiting import eventually

ENDLESS = program(say("never", delay_ms=60_000))
SESSIONS = [f"five{n}" for n in range(4)]


def five_children(fleet: Fleet, session: str) -> str:
    """Start five children that each report alone, in a session with an earlier turn. Returns the session id."""
    fleet.outcome(fleet.send(program(say("the first answer")), session))
    fleet.outcome(fleet.send(program(spawn(*[ENDLESS] * 5, announce="each"), say("spawned")), session))
    eventually(lambda: at_work(fleet, session) == 5, within=30)
    return fleet.stores.reader.row(session_key(session))["sessionId"]


def at_work(fleet: Fleet, session: str) -> int:
    return sum(run.state == "running" for run in children_of(fleet.stores, session_key(session)))


def check_archive(fleet: Fleet, session_id: str, runs: list[Run]) -> None:
    file = fleet.state_dir / "agents" / "main" / "sessions" / f"{session_id}.jsonl"
    lines = file.read_text().removesuffix("\n").split("\n")
    texts = [block.get("text", "") for line in lines[1:] for block in json.loads(line)["content"]]
    announced = Counter(run.id for run in runs for text in texts if f"run: {run.id}" in text)
    assert [texts.count(said) for said in ("the first answer", "spawned")] == [1, 1], texts
    assert announced == {run.id: 1 for run in runs}
    assert len(lines) == len(set(lines)), "an entry was written twice"


def no_archive_pending(fleet: Fleet) -> bool:
    redis, keys = fleet.stores.redis, fleet.stores.keys
    pending = [item for item in map(str, redis.zrange(keys.due, 0, -1)) if item.startswith("archive|")]
    return not pending and not redis.exists(keys.archives)


def test_a_reset_while_five_children_report_loses_nothing(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(defaults=True)
    start_workers(fleet, "main", "subagent", "service", concurrency=32)
    old = {name: five_children(fleet, name) for name in SESSIONS}

    for name in SESSIONS:
        fleet.control.reset(session_key(name))

    runs = {name: check_tree(fleet.stores, session_key(name)) for name in SESSIONS}
    eventually(lambda: no_archive_pending(fleet), within=60)
    for name, session_id in old.items():
        assert len(runs[name]) == 5
        check_archive(fleet, session_id, runs[name])


def test_a_reset_from_the_command_line_while_five_children_work_loses_nothing(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(defaults=True)
    start_workers(fleet, "main", "subagent", "service", concurrency=32)
    session_id = five_children(fleet, "main")

    assert Ocw(fleet)("sessions", "reset", "main").code == 0

    runs = check_tree(fleet.stores, session_key("main"))
    eventually(lambda: no_archive_pending(fleet), within=60)
    assert len(runs) == 5
    check_archive(fleet, session_id, runs)
