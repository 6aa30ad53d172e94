"""Calls that wait for people, over workers that die: before they wait, while they wait, and with the answer in hand."""

from __future__ import annotations

import json

from openclaw_workers.domain.question import Question
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.store.questions import Questions
from openclaw_workers.store.turns import Turns
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw
from tests.support.programs import call, execute, mark, program, say
from tests.support.waiting import eventually

ASKS = {"tools": {"exec": {"security": "allowlist"}}}
MAIN = session_key("main")
WITHIN = 40


def waiting(fleet: Fleet) -> Question:
    """The one question, once its run holds no worker."""
    eventually(lambda: fleet.stores.questions.open() and parked(fleet), within=WITHIN)
    (question,) = fleet.stores.questions.open()
    return question


def parked(fleet: Fleet) -> bool:
    return fleet.stores.reader.control(MAIN).state == "parked"


def results(fleet: Fleet) -> list[str]:
    return [each.content[0].text for each in fleet.transcript() if isinstance(each, ToolResultEntry)]


def test_a_command_is_approved_after_its_worker_was_killed(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({**ASKS, "lanes": {"main": {"maxConcurrent": 1}}})
    victim = fleet.worker()
    asking = fleet.send(program(call(mark("ran")), say("done")))
    question = waiting(fleet)
    assert fleet.outcome(fleet.send(program(say("meanwhile")), "other"), within=WITHIN).text == "meanwhile"

    victim.kill()
    fleet.worker()
    reported = Ocw(fleet)("approvals", "approve", question.id, "--json")

    assert reported.json == {"ok": True, "id": question.id, "text": "Allowed once."}
    assert fleet.outcome(asking, within=WITHIN).text == "done"
    assert fleet.count("ran") == 1
    assert fleet.run(fleet.receipt(asking).run).attempt == 1
    late = Ocw(fleet)("approvals", "deny", question.id)
    assert (late.code, "answered before" in late.err) == (6, True)


def test_a_question_of_the_agent_is_answered_on_another_worker(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    victim = fleet.worker()
    ask = {"tool": "ask_user", "input": {"question": "Which?", "choices": ["red", "blue"]}}
    asking = fleet.send(program(call(ask), say("done")))
    waiting(fleet)

    victim.kill()
    fleet.worker()
    reply = fleet.send("blue")

    assert fleet.outcome(asking, within=WITHIN).text == "done"
    assert fleet.receipt(reply).run == fleet.receipt(asking).run
    assert json.loads(results(fleet)[0])["choice"] == 2


def test_a_worker_killed_between_asking_and_parking_has_asked_once(make_fleet: MakeFleet) -> None:
    """The call counts as started, but it has only asked: it is not reported as interrupted, and runs when allowed."""
    fleet = make_fleet(ASKS)
    victim = fleet.worker(**faulty(die=f"{place(Turns.release)}:1"))
    asking = fleet.send(program(call(mark("ran")), say("done")))
    victim.wait()
    fleet.worker()
    question = waiting(fleet)
    assert len(fleet.events(kind="question.asked")) == 1

    Ocw(fleet)("approvals", "approve", question.id)

    assert fleet.outcome(asking, within=WITHIN).text == "done"
    assert fleet.count("ran") == 1


def test_an_approved_command_that_was_interrupted_is_not_run_again(make_fleet: MakeFleet) -> None:
    """I5: the worker dies while the approved command runs. The answer allows no second run."""
    fleet = make_fleet(ASKS)
    victim = fleet.worker()
    asking = fleet.send(program(call(execute("echo run >> ran; sleep 60")), say("done")))
    question = waiting(fleet)
    Ocw(fleet)("approvals", "approve", question.id)
    eventually(lambda: fleet.count("ran") == 1, within=WITHIN)

    victim.kill()
    fleet.worker()

    assert fleet.outcome(asking, within=WITHIN).text == "done"
    assert fleet.count("ran") == 1
    assert "worker" in results(fleet)[0]


def test_a_worker_killed_before_it_asks_has_asked_nothing(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(ASKS)
    victim = fleet.worker(**faulty(die=f"{place(Questions.ask)}:1"))
    asking = fleet.send(program(call(mark("ran")), say("done")))
    victim.wait()
    fleet.worker()

    assert fleet.outcome(asking, within=WITHIN).text == "done"
    assert fleet.count("ran") == 0
    assert "worker" in results(fleet)[0]
