"""The limits of a tree hold by whatever way its runs begin, and from its root to its leaves."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.messages import MessageState
from tests.support.programs import program, say, spawn
from tests.unit.engine.conftest import SESSION, House, MakeHouse
from tests.unit.engine.session_talk import send, use
from tests.unit.engine.tree_talk import CHILD, answers, children, first_turn, row, settle, text


def counts(house: House, session: SessionKey = SESSION) -> tuple[int, int]:
    """Unsettled children of the session, and unsettled runs of the tree it is the root of."""
    return house.stores.tree.counts(session, session)


def with_settled(make_house: MakeHouse, count: int, **limits: int) -> tuple[House, list[SessionKey]]:
    """A house whose main session has so many children, all of them done."""
    house = make_house({"agents": {"defaults": {"subagents": limits}}})
    for _ in range(count):
        first_turn(house, spawn(CHILD))
        settle(house)
    return house, [run.session_key for run in children(house)]


def one_turn(house: House, *steps: Any) -> list[dict[str, Any]]:
    """Carry one turn of the main session and nothing it starts; gives what its calls were answered."""
    before = len(answers(house))
    house.say(text(*steps, say("said"), say("heard"), say("heard more")))
    house.runner.run(*house.waker.turns.pop())
    return answers(house)[before:]


def by_subagents(child: SessionKey) -> Any:
    return use("subagents", action="send", target=child, message=text(say("again")))


def by_steering(child: SessionKey) -> Any:
    return use("subagents", action="steer", target=child, message=text(say("again")))


def by_sessions_send(child: SessionKey) -> Any:
    return send(child, text(say("again")), timeoutSeconds=0)


def by_waiting(child: SessionKey) -> Any:
    return send(child, text(say("again")))


@pytest.mark.parametrize("tell", [by_subagents, by_steering, by_sessions_send])
@pytest.mark.parametrize(
    ("limits", "whose"),
    [({"maxChildrenPerAgent": 1}, "the session that started it"), ({"maxTreeRuns": 1}, "its tree")],
)
def test_speaking_to_settled_children_does_not_evade_a_limit(
    make_house: MakeHouse, tell: Any, limits: dict[str, int], whose: str
) -> None:
    # Given three children that are done, where one may be at work
    house, settled = with_settled(make_house, 3, **limits)

    # When each is told something
    told = one_turn(house, *map(tell, settled))

    # Then one starts again, and the others are refused with what to do
    assert [each["status"] for each in told] == ["accepted", "forbidden", "forbidden"]
    assert counts(house) == (1, 1)
    assert f"{whose} has as many sub-agents at work as it may have" in told[1]["error"]
    assert "was not delivered" in told[1]["error"]

    # And when that one is done there is room again
    settle(house)
    assert [each["status"] for each in one_turn(house, tell(settled[1]))] == ["accepted"]
    settle(house)
    assert counts(house) == (0, 0)


def test_a_refused_message_is_not_waited_for_and_leaves_its_receipt(make_house: MakeHouse) -> None:
    house, (first, second) = with_settled(make_house, 2, maxChildrenPerAgent=1)

    told = one_turn(house, by_subagents(first), by_waiting(second))

    assert [each["status"] for each in told] == ["accepted", "forbidden"]
    assert house.ctl("state", second) == "idle"
    receipts: Any = house.stores.redis.hgetall(house.stores.keys.receipts(second))
    (refused,) = [raw for ident, raw in receipts.items() if ident.startswith("send-")]
    assert f'"{MessageState.REJECTED}"' in refused
    assert '"children"' in refused


def test_a_call_that_was_refused_stays_refused_when_it_is_made_again(make_house: MakeHouse) -> None:
    """Rule 13: its owner died before it could write down what it was told, and there is room by now."""
    house, (first, second) = with_settled(make_house, 2, maxChildrenPerAgent=1)
    queued = house.say(text(by_subagents(first), by_subagents(second), by_sessions_send(second), say("said")))
    house.runner.run(*house.waker.turns.pop())
    told = answers(house)[-3:]
    settle(house)

    assert queued.run is not None
    while house.log()[-1].role != "assistant" or len(answers(house)) > 2:
        house.stores.redis.rpop(house.stores.keys.log(SESSION))
    again: dict[Any, Any] = {"state": "queued", "run": queued.run, "resumed": "1", "started": ""}
    again |= {"run_key": house.stores.keys.run(queued.run)}
    house.stores.redis.hset(house.stores.keys.ctl(SESSION), mapping=again)
    house.runner.run(SESSION, queued.run)

    assert [each["status"] for each in told] == ["accepted", "forbidden", "forbidden"]
    assert answers(house)[-3:] == told
    assert len(children(house)) == 3


def test_people_always_find_room(make_house: MakeHouse) -> None:
    house, settled = with_settled(make_house, 2, maxChildrenPerAgent=1, maxTreeRuns=1)

    for child in settled:
        house.say(text(say("for a person")), child)

    assert counts(house) == (2, 2)


def test_a_child_at_work_takes_messages_whatever_the_limits_say(make_house: MakeHouse) -> None:
    house, (child,) = with_settled(make_house, 1, maxChildrenPerAgent=1, maxTreeRuns=1)

    told = one_turn(house, by_subagents(child), by_steering(child), by_sessions_send(child))

    assert [each["status"] for each in told] == ["accepted"] * 3
    assert counts(house) == (1, 1)


def two_agents(make_house: MakeHouse, main: dict[str, int], coder: dict[str, int]) -> House:
    """`main` and `coder`, with these limits, may spawn each other."""
    agents = [
        {"id": name, "subagents": {"allowAgents": ["*"], **limits}}
        for name, limits in (("main", main), ("coder", coder))
    ]
    return make_house({"agents": {"list": agents}})


def nesting(agents: list[str], *, width: int = 1) -> dict[str, Any]:
    """A task that has the first agent spawned, which has the next one spawned, and so on."""
    if not agents:
        return CHILD
    below = nesting(agents[1:], width=width)
    return program(spawn(*[below] * width, agentId=agents[0]), say("waiting"), say("done"))


def grown(house: House, task: dict[str, Any]) -> list[tuple[int, str]]:
    """Carry every turn but announce nothing: depth and role of all runs that came of it."""
    house.say(text(*task["steps"]))
    house.work()
    runs = [run for run in house.stores.reader.runs(100) if run.is_child]
    return sorted((run.depth, str(run.role)) for run in runs)


def test_the_depth_of_a_tree_is_its_roots_whoever_spawns(make_house: MakeHouse) -> None:
    house = two_agents(make_house, {"maxSpawnDepth": 2}, {"maxSpawnDepth": 5})

    assert grown(house, nesting(["coder"] * 4)) == [(1, "orchestrator"), (2, "leaf")]


def test_an_agent_in_the_middle_may_narrow_a_tree_for_all_below_it(make_house: MakeHouse) -> None:
    house = two_agents(make_house, {"maxSpawnDepth": 5}, {"maxSpawnDepth": 2})

    runs = grown(house, nesting(["main", "coder", "main"]))

    assert runs == [(1, "orchestrator"), (2, "leaf")]


def test_what_the_middle_narrowed_is_handed_down(make_house: MakeHouse) -> None:
    house = two_agents(make_house, {"maxSpawnDepth": 5, "maxTreeRuns": 9}, {"maxSpawnDepth": 3, "maxTreeRuns": 20})

    assert grown(house, nesting(["coder", "main", "main", "main"])) == [
        (1, "orchestrator"),
        (2, "orchestrator"),
        (3, "leaf"),
    ]
    (first,) = children(house)
    (second,) = children(house, first.session_key)
    handed = [
        (row(house, run.session_key)["maxSpawnDepth"], row(house, run.session_key)["maxTreeRuns"])
        for run in (first, second)
    ]
    assert handed == [("5", "9"), ("3", "9")]


def test_the_number_of_runs_in_a_tree_is_its_roots_whoever_spawns(make_house: MakeHouse) -> None:
    house = two_agents(make_house, {"maxTreeRuns": 3}, {"maxTreeRuns": 50})

    runs = grown(house, nesting(["coder", "coder"], width=2))

    assert runs == [(1, "orchestrator"), (1, "orchestrator"), (2, "leaf")], "the fourth was one too many"
    refused = [each for run in children(house) for each in answers(house, run.session_key) if not each["accepted"]]
    assert "may have 3" in refused[0]["error"]


def test_a_follow_up_below_counts_by_the_roots_limit_too(make_house: MakeHouse) -> None:
    house = two_agents(make_house, {"maxTreeRuns": 2}, {"maxTreeRuns": 50})
    leaf = program(say("leaf"))
    again = [use("subagents", action="send", target=f"#{number}", message=text(say("again"))) for number in (1, 2)]
    child = program(spawn(leaf), say("waiting"), spawn(leaf), say("waiting"), *again, say("waiting"), say("done"))
    house.say(text(spawn(child, agentId="coder"), say("spawned"), say("heard")))

    settle(house)

    (coder,) = children(house)
    told = answers(house, coder.session_key)
    assert [each["status"] for each in told] == ["accepted", "accepted", "accepted", "forbidden"]
