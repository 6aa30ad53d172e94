"""Short ways to grow a tree in one process and to read what came of it."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import UserEntry
from openclaw_workers.domain.tree import BatchState
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.programs import Step, as_text, program, say, spawn

CHILD = program(say("child's word"))


def text(*steps: Step) -> str:
    return as_text(program(*steps))


def first_turn(engine: EngineHarness, step: Step, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """Say a program whose first step spawns, carry that one turn, and give the answers of its calls."""
    engine.say(text(step, say("spawned"), say("heard"), say("heard more")), session)
    wake = next(each for each in engine.waker.turns if each[0] == session)
    engine.waker.turns.remove(wake)
    engine.runner.run(*wake)
    return answers(engine, session)


def answers(engine: EngineHarness, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """What sessions_spawn said, in the order of the calls; an argument error is plain text."""
    results = [entry.content[0].text for entry in engine.log(session) if entry.role == "toolResult"]
    return [json.loads(each) if each.startswith("{") else {"status": "refused", "error": each} for each in results]


def ask(engine: EngineHarness, **args: Any) -> dict[str, Any]:
    """Spawn one child; gives the answer."""
    task = args.pop("task", CHILD)
    (answer,) = first_turn(engine, spawn(task, **args))
    return answer


def children(engine: EngineHarness, session: SessionKey = SESSION) -> list[Run]:
    return engine.stores.tree.children(session)


def child(engine: EngineHarness, session: SessionKey = SESSION) -> Run:
    (only,) = children(engine, session)
    return only


def row(engine: EngineHarness, session: SessionKey) -> dict[str, str]:
    return engine.stores.reader.row(session)


def pending(engine: EngineHarness) -> list[BatchId]:
    due = [str(item) for item in engine.stores.redis.zrange(engine.stores.keys.due, 0, -1)]
    return [BatchId(item.removeprefix("batch|")) for item in due if item.startswith("batch|")]


def settle(engine: EngineHarness) -> list[BatchState | None]:
    """Work, and announce what has settled, until nothing moves."""
    reported: list[BatchState | None] = []
    while True:
        engine.work()
        batches = pending(engine)
        if not batches:
            return reported
        reported += [engine.announcer.announce(batch) for batch in batches]


def announces(engine: EngineHarness, session: SessionKey = SESSION) -> list[str]:
    return [
        entry.content[0].text
        for entry in engine.log(session)
        if isinstance(entry, UserEntry) and entry.provenance == "subagent"
    ]


def reread(engine: EngineHarness, run: Run) -> Run:
    found = engine.stores.reader.run(RunId(run.id))
    assert found is not None
    return found


def shown(engine: EngineHarness, kind: str, session: SessionKey = SESSION) -> list[dict[str, Any]]:
    """The data of all events of one kind."""
    return [dict(event.data) for event in engine.stores.reader.events(session, "0", count=5000) if event.type == kind]
