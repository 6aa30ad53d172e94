"""Short ways to grow a tree in one process and to read what came of it."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.models.ids import BatchId, RunId, SessionKey
from openclaw_workers.models.runs import Run
from openclaw_workers.models.transcript import UserEntry
from openclaw_workers.models.tree import BatchState
from tests.support.programs import Step, as_text, program, say, spawn
from tests.unit.engine.conftest import SESSION, House

CHILD = program(say("child's word"))


def text(*steps: Step) -> str:
    return as_text(program(*steps))


def first_turn(house: House, step: Step, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """Say a program whose first step spawns, carry that one turn, and give the answers of its calls."""
    house.say(text(step, say("spawned"), say("heard"), say("heard more")), session)
    wake = next(each for each in house.waker.turns if each[0] == session)
    house.waker.turns.remove(wake)
    house.runner.run(*wake)
    return answers(house, session)


def answers(house: House, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """What sessions_spawn said, in the order of the calls; an argument error is plain text."""
    results = [entry.content[0].text for entry in house.log(session) if entry.role == "toolResult"]
    return [json.loads(each) if each.startswith("{") else {"status": "refused", "error": each} for each in results]


def ask(house: House, **args: Any) -> dict[str, Any]:
    """Spawn one child; gives the answer."""
    task = args.pop("task", CHILD)
    (answer,) = first_turn(house, spawn(task, **args))
    return answer


def children(house: House, session: SessionKey = SESSION) -> list[Run]:
    return house.stores.tree.children(session)


def child(house: House, session: SessionKey = SESSION) -> Run:
    (only,) = children(house, session)
    return only


def row(house: House, session: SessionKey) -> dict[str, str]:
    return house.stores.reader.row(session)


def pending(house: House) -> list[BatchId]:
    due = [str(item) for item in house.stores.redis.zrange(house.stores.keys.due, 0, -1)]
    return [BatchId(item.removeprefix("batch|")) for item in due if item.startswith("batch|")]


def settle(house: House) -> list[BatchState | None]:
    """Work, and announce what has settled, until nothing moves."""
    told: list[BatchState | None] = []
    while True:
        house.work()
        batches = pending(house)
        if not batches:
            return told
        told += [house.announcer.announce(batch) for batch in batches]


def announces(house: House, session: SessionKey = SESSION) -> list[str]:
    return [
        entry.content[0].text
        for entry in house.log(session)
        if isinstance(entry, UserEntry) and entry.provenance == "subagent"
    ]


def reread(house: House, run: Run) -> Run:
    found = house.stores.reader.run(RunId(run.id))
    assert found is not None
    return found


def shown(house: House, kind: str, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """The data of all events of one kind."""
    return [dict(event.data) for event in house.stores.reader.events(session, "0", count=5000) if event.type == kind]
