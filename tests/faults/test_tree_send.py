"""Sessions wait for each other's answers, with workers that die, are slow, or are too few."""

from __future__ import annotations

import json
import signal
from typing import Any

from openclaw_workers.domain.transcript import AssistantEntry, ToolResultEntry, UserEntry
from openclaw_workers.store.inter_session import InterSession
from openclaw_workers.store.turns import Turns
from tests.component.engine.session_steps import bare
from tests.faults.conftest import MakeFleet
from tests.support.checker import Remaining, check_sequence, undrained
from tests.support.faulty_workers import faulty, place
from tests.support.fleet import Fleet, session_key
from tests.support.programs import Program, Step, as_text, call, execute, program, say
from tests.support.waiting import eventually

A, B = session_key("main"), session_key("other")
LONG = 3_600
WAIT = place(InterSession.wait)
RELEASE = place(Turns.release)
RELAY = place(InterSession.relay)
RELAYED = place(InterSession.relayed)
QUIET = {"session": {"agentToAgent": {"maxPingPongTurns": 0}}}


def ask(to: str, message: Program, *, seconds: int = LONG) -> Step:
    wanted = {"sessionKey": to, "message": as_text(message), "timeoutSeconds": seconds}
    return call({"tool": "sessions_send", "input": wanted})


def send_results(fleet: Fleet, session: str = A) -> list[dict[str, Any]]:
    results = [each for each in fleet.transcript(session) if isinstance(each, ToolResultEntry)]
    results_json = [json.loads(each.content[0].text) for each in results]
    return [{**each, "reply": bare(each["reply"])} if each.get("reply") else each for each in results_json]


def answers(fleet: Fleet, session: str = A) -> list[str]:
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, AssistantEntry)]
    return [entry.text for entry in entries if not entry.tool_calls]


def received(fleet: Fleet, session: str = B) -> list[str]:
    """The ids of the messages that other sessions sent to this one."""
    entries = [entry for entry in fleet.transcript(session) if isinstance(entry, UserEntry)]
    return [name for entry in entries if entry.provenance == "inter_session" for name in entry.message_ids]


def check_drained(fleet: Fleet, *sessions: str, within: float = 30) -> None:
    """Wait until nothing runs, waits or is left to relay, and check the transcripts."""
    stores, keys = fleet.stores, [session_key(name) for name in sessions or (A, B)]

    def left() -> Remaining:
        kept = [f"waits for {key}" for key in keys if stores.exchanges.waiting_for(key)]
        kept += [f"to pass on: {name!s}" for name in stores.redis.hkeys(stores.keys.relays)]
        return Remaining([*undrained(stores, keys), *kept])

    eventually(left, within=within)
    for session in keys:
        check_sequence(fleet.transcript(session))


def create_b(fleet: Fleet) -> None:
    """Create session B with a first message."""
    fleet.outcome(fleet.send(program(say("hello")), "other"))


def parked(fleet: Fleet) -> bool:
    return fleet.stores.reader.control(A).state == "parked"


def test_a_asks_b_who_asks_a_with_one_slot_and_both_finish(make_fleet: MakeFleet) -> None:
    """I8: neither holds the slot while it waits, and the call that would close the circle does not wait."""
    fleet = make_fleet({"lanes": {"main": {"maxConcurrent": 1}}, **QUIET})
    fleet.worker(concurrency=1)
    create_b(fleet)
    back = program(ask(A, program(say("a heard b"))), say("b to a"), say("ANNOUNCE_SKIP"))

    asking = fleet.send(program(ask(B, back), say("a is done")))

    assert fleet.outcome(asking).text == "a is done"
    check_drained(fleet)
    (answer,) = send_results(fleet)
    assert (answer["status"], answer["reply"]) == ("ok", "b to a")
    (answer,) = send_results(fleet, B)
    assert answer["status"] == "accepted"
    assert "a heard b" in answers(fleet)


def test_a_waiting_run_gets_its_answer_after_its_worker_was_killed(make_fleet: MakeFleet) -> None:
    """No worker owns a parked run, so the worker that parked it may be gone."""
    fleet = make_fleet(QUIET)
    victim = fleet.worker()
    create_b(fleet)
    asking = fleet.send(program(ask(B, program(say("late", delay_ms=1_000))), say("got it")))
    eventually(lambda: parked(fleet) and fleet.stores.reader.control(B).state == "running", within=10)

    victim.kill()
    fleet.worker()

    assert fleet.outcome(asking).text == "got it"
    check_drained(fleet)
    assert send_results(fleet)[0]["reply"] == "late"
    assert answers(fleet, B)[:2] == ["hello", "late"]
    assert fleet.run(fleet.receipt(asking).run).attempt == 1, "waiting counted as an attempt (rule 5)"


def test_a_sender_killed_before_it_waits_has_sent_one_message(make_fleet: MakeFleet) -> None:
    """I5: the next owner repeats the call, which sends the same message."""
    fleet = make_fleet(QUIET)
    victim = fleet.worker(concurrency=1, **faulty(die=f"{WAIT}:1"))
    create_b(fleet)
    asking = fleet.send(program(ask(B, program(say("once"))), say("got it")))
    assert victim.wait() == -signal.SIGKILL

    fleet.worker()

    assert fleet.outcome(asking).text == "got it"
    check_drained(fleet)
    assert send_results(fleet)[0]["reply"] == "once"
    assert len(received(fleet)) == len(set(received(fleet))) == 2, "the message, and the announce step"


def test_after_a_wait_times_out_the_answer_arrives_as_a_message(fleet: Fleet) -> None:
    fleet.worker()
    create_b(fleet)
    held = execute("while [ ! -e go ]; do sleep 0.05; done")
    slow = program(call(held), say("late"), say("ANNOUNCE_SKIP"))

    asking = fleet.send(program(ask(B, slow, seconds=1), say("moving on"), say("REPLY_SKIP")))

    assert fleet.outcome(asking).text == "moving on"
    assert send_results(fleet)[0]["status"] == "timeout"
    assert fleet.stores.reader.control(B).state == "running", "B has stopped working on the answer"
    assert fleet.stores.exchanges.waiting_for(B) == set(), "A still waits for it"
    (fleet.workspace / "go").touch()
    eventually(lambda: answers(fleet) == ["moving on", "REPLY_SKIP"], within=20)
    check_drained(fleet)
    assert len(received(fleet, A)) == 1
    assert answers(fleet, B) == ["hello", "late", "ANNOUNCE_SKIP"]


def test_an_answer_that_arrives_before_the_run_parks_is_not_missed(make_fleet: MakeFleet) -> None:
    """Rule 2: a run parks only if the answer has not arrived yet."""
    fleet = make_fleet(QUIET)
    fleet.worker(concurrency=4, **faulty(slow=f"{RELEASE}:1.0"))
    create_b(fleet)

    askers = [f"asks-{n}" for n in range(3)]

    sent = [fleet.send(program(ask(B, program(say(f"quick for {name}"))), say("got it")), name) for name in askers]

    outcomes = fleet.outcomes(sent, within=20)
    assert [outcome.text for outcome in outcomes] == ["got it"] * 3
    assert [send_results(fleet, name)[0]["reply"] for name in askers] == [f"quick for {name}" for name in askers]
    check_drained(fleet, *askers, B)


def test_an_exchange_survives_the_death_of_the_worker_that_relays_it(make_fleet: MakeFleet) -> None:
    """The worker dies before a relay step, and after one that is not recorded yet. Each step happens once."""
    fleet = make_fleet({"session": {"agentToAgent": {"maxPingPongTurns": 2}}})
    victim = fleet.worker(**faulty(die=f"{RELAY}:1"))
    create_b(fleet)
    other = program(say("b1"), say("b2"), say("told the chat"))
    fleet.send(program(ask(B, other), say("a1"), say("a2")))
    assert victim.wait() == -signal.SIGKILL
    for moment in (f"{RELAYED}:1", f"{RELAYED}:1:after"):
        victim = fleet.worker(wait=False, **faulty(die=moment))
        assert victim.wait() == -signal.SIGKILL

    fleet.worker()
    eventually(lambda: answers(fleet, B)[-1:] == ["told the chat"], within=20)

    check_drained(fleet)
    assert answers(fleet) == ["a1", "a2"]
    assert answers(fleet, B) == ["hello", "b1", "b2", "told the chat"]
    assert len(set(received(fleet) + received(fleet, A))) == 4
    assert len(received(fleet)) + len(received(fleet, A)) == 4
