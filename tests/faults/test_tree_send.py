"""Sessions that wait for each other's answers, on real workers that die, are slow, or are too few."""

from __future__ import annotations

import json
import signal
from typing import Any

from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, UserEntry
from tests.component.engine.session_steps import bare
from tests.faults.conftest import MakeFleet
from tests.support.checker import Remaining, check_sequence, undrained
from tests.support.faulty_workers import faulty
from tests.support.fleet import Fleet, session_key
from tests.support.programs import Program, Step, as_text, call, execute, program, say
from tests.support.waiting import eventually

A, B = session_key("main"), session_key("other")
LONG = 3_600
WAIT = "openclaw_workers.store.inter_session:Exchanges.wait"
RELEASE = "openclaw_workers.store.turns:Turns.release"
PASS_ON = "openclaw_workers.store.inter_session:Exchanges.relay"
PASSED_ON = "openclaw_workers.store.inter_session:Exchanges.relayed"
QUIET = {"session": {"agentToAgent": {"maxPingPongTurns": 0}}}


def ask(to: str, message: Program, *, seconds: int = LONG) -> Step:
    wanted = {"sessionKey": to, "message": as_text(message), "timeoutSeconds": seconds}
    return call({"tool": "sessions_send", "input": wanted})


def told(fleet: Fleet, session: str = A) -> list[dict[str, Any]]:
    results = [each for each in fleet.transcript(session) if isinstance(each, ToolResultEntry)]
    answers = [json.loads(each.content[0].text) for each in results]
    return [{**each, "reply": bare(each["reply"])} if each.get("reply") else each for each in answers]


def said(fleet: Fleet, session: str = A) -> list[str]:
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, AssistantEntry)]
    return [entry.text for entry in entries if not entry.tool_calls]


def heard(fleet: Fleet, session: str = B) -> list[str]:
    """The ids of what a session was told by others."""
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, UserEntry)]
    return [name for entry in entries if entry.provenance == "inter_session" for name in entry.message_ids]


def at_rest(fleet: Fleet, *sessions: str, within: float = 30) -> None:
    """Everything has drained, nobody waits, nothing is left to pass on, and the transcripts are valid."""
    stores, keys = fleet.stores, [session_key(name) for name in sessions or (A, B)]

    def left() -> Remaining:
        kept = [f"waits for {key}" for key in keys if stores.exchanges.waiting_for(key)]
        kept += [f"to pass on: {name!s}" for name in stores.redis.hkeys(stores.keys.relays)]
        return Remaining([*undrained(stores, keys), *kept])

    eventually(left, within=within)
    for session in keys:
        check_sequence(fleet.transcript(session))


def introduced(fleet: Fleet) -> None:
    """B is a session that somebody has spoken to."""
    fleet.outcome(fleet.send(program(say("hello")), "other"))


def parked(fleet: Fleet) -> bool:
    return fleet.stores.reader.control(A).state == "parked"


def test_a_asks_b_who_asks_a_with_one_slot_and_both_finish(make_fleet: MakeFleet) -> None:
    """I8: neither holds the slot while it waits, and the one who would close the circle does not wait."""
    fleet = make_fleet({"lanes": {"main": {"maxConcurrent": 1}}, **QUIET})
    fleet.worker(concurrency=1)
    introduced(fleet)
    back = program(ask(A, program(say("a heard b"))), say("b to a"), say("ANNOUNCE_SKIP"))

    asking = fleet.send(program(ask(B, back), say("a is done")))

    assert fleet.outcome(asking).text == "a is done"
    at_rest(fleet)
    (answer,) = told(fleet)
    assert (answer["status"], answer["reply"]) == ("ok", "b to a")
    (answer,) = told(fleet, B)
    assert answer["status"] == "accepted"
    assert "a heard b" in said(fleet)


def test_the_answer_finds_a_run_whose_worker_was_killed_while_it_waited(make_fleet: MakeFleet) -> None:
    """A parked run belongs to nobody: who carried it and who answers may both be gone."""
    fleet = make_fleet(QUIET)
    victim = fleet.worker()
    introduced(fleet)
    asking = fleet.send(program(ask(B, program(say("late", delay_ms=1_000))), say("got it")))
    eventually(lambda: parked(fleet) and fleet.stores.reader.control(B).state == "running", within=10)

    victim.kill()
    fleet.worker()

    assert fleet.outcome(asking).text == "got it"
    at_rest(fleet)
    assert told(fleet)[0]["reply"] == "late"
    assert said(fleet, B)[:2] == ["hello", "late"]
    assert fleet.run(fleet.receipt(asking).run).attempt == 1, "waiting is charged to nobody (rule 5)"


def test_a_sender_killed_before_it_waits_has_sent_one_message(make_fleet: MakeFleet) -> None:
    """I5: its next owner makes the call again, and means the same message."""
    fleet = make_fleet(QUIET)
    victim = fleet.worker(concurrency=1, **faulty(die=f"{WAIT}:1"))
    introduced(fleet)
    asking = fleet.send(program(ask(B, program(say("once"))), say("got it")))
    assert victim.wait() == -signal.SIGKILL

    fleet.worker()

    assert fleet.outcome(asking).text == "got it"
    at_rest(fleet)
    assert told(fleet)[0]["reply"] == "once"
    assert len(heard(fleet)) == len(set(heard(fleet))) == 2, "the message, and the announce step"


def test_a_wait_that_is_over_goes_on_and_the_answer_comes_by_itself(fleet: Fleet) -> None:
    fleet.worker()
    introduced(fleet)
    held = execute("while [ ! -e go ]; do sleep 0.05; done")
    slow = program(call(held), say("late"), say("ANNOUNCE_SKIP"))

    asking = fleet.send(program(ask(B, slow, seconds=1), say("moving on"), say("REPLY_SKIP")))

    assert fleet.outcome(asking).text == "moving on"
    assert told(fleet)[0]["status"] == "timeout"
    assert fleet.stores.reader.control(B).state == "running", "it still works on the answer"
    assert fleet.stores.exchanges.waiting_for(B) == set(), "and nobody waits for it any more"
    (fleet.workspace / "go").touch()
    eventually(lambda: said(fleet) == ["moving on", "REPLY_SKIP"], within=20)
    at_rest(fleet)
    assert len(heard(fleet, A)) == 1
    assert said(fleet, B) == ["hello", "late", "ANNOUNCE_SKIP"]


def test_an_answer_that_comes_before_the_run_has_parked_is_not_missed(make_fleet: MakeFleet) -> None:
    """Rule 2: a run parks only while what it waits for has not come."""
    fleet = make_fleet(QUIET)
    fleet.worker(concurrency=4, **faulty(slow=f"{RELEASE}:1.0"))
    introduced(fleet)

    askers = [f"asks-{n}" for n in range(3)]

    sent = [fleet.send(program(ask(B, program(say(f"quick for {name}"))), say("got it")), name) for name in askers]

    outcomes = fleet.outcomes(sent, within=20)
    assert [outcome.text for outcome in outcomes] == ["got it"] * 3
    assert [told(fleet, name)[0]["reply"] for name in askers] == [f"quick for {name}" for name in askers]
    at_rest(fleet, *askers, B)


def test_an_exchange_survives_whoever_passes_it_on(make_fleet: MakeFleet) -> None:
    """Killed before a step is taken, and after it but before that is noted: each step is taken once."""
    fleet = make_fleet({"session": {"agentToAgent": {"maxPingPongTurns": 2}}})
    victim = fleet.worker(**faulty(die=f"{PASS_ON}:1"))
    introduced(fleet)
    other = program(say("b1"), say("b2"), say("told the chat"))
    fleet.send(program(ask(B, other), say("a1"), say("a2")))
    assert victim.wait() == -signal.SIGKILL
    for moment in (f"{PASSED_ON}:1", f"{PASSED_ON}:1:after"):
        victim = fleet.worker(wait=False, **faulty(die=moment))
        assert victim.wait() == -signal.SIGKILL

    fleet.worker()
    eventually(lambda: said(fleet, B)[-1:] == ["told the chat"], within=20)

    at_rest(fleet)
    assert said(fleet) == ["a1", "a2"]
    assert said(fleet, B) == ["hello", "b1", "b2", "told the chat"]
    assert len(set(heard(fleet) + heard(fleet, A))) == 4
    assert len(heard(fleet)) + len(heard(fleet, A)) == 4
