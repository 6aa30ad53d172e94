"""The limits of a tree hold by whatever way its runs begin, and from its root to its leaves."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import MessageState
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import send, use
from tests.component.engine.tree_builder import CHILD, answers, children, first_turn, row, settle, text
from tests.support.programs import program, say, spawn


def counts(engine: EngineHarness, session: SessionKey = SESSION) -> tuple[int, int]:
    """Unsettled children of the session, and unsettled runs of the tree it is the root of."""
    return engine.stores.tree.counts(session, session)


def with_settled(make_engine: MakeEngine, count: int, **limits: int) -> tuple[EngineHarness, list[SessionKey]]:
    """A house whose main session has so many children, all of them done."""
    engine = make_engine({"agents": {"defaults": {"subagents": limits}}})
    for _ in range(count):
        first_turn(engine, spawn(CHILD))
        settle(engine)
    return engine, [run.session_key for run in children(engine)]


def one_turn(engine: EngineHarness, *steps: Any) -> list[dict[str, Any]]:
    """Carry one turn of the main session and nothing it starts; gives what its calls were answered."""
    before = len(answers(engine))
    engine.say(text(*steps, say("said"), say("heard"), say("heard more")))
    engine.runner.run(*engine.waker.turns.pop())
    return answers(engine)[before:]


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
    make_engine: MakeEngine, tell: Any, limits: dict[str, int], whose: str
) -> None:
    # Given three children that are done, where one may be at work
    engine, settled = with_settled(make_engine, 3, **limits)

    # When each is told something
    reported = one_turn(engine, *map(tell, settled))

    # Then one starts again, and the others are refused with what to do
    assert [each["status"] for each in reported] == ["accepted", "forbidden", "forbidden"]
    assert counts(engine) == (1, 1)
    assert f"{whose} has as many sub-agents at work as it may have" in reported[1]["error"]
    assert "was not delivered" in reported[1]["error"]

    # And when that one is done there is room again
    settle(engine)
    assert [each["status"] for each in one_turn(engine, tell(settled[1]))] == ["accepted"]
    settle(engine)
    assert counts(engine) == (0, 0)


def test_a_refused_message_is_not_waited_for_and_leaves_its_receipt(make_engine: MakeEngine) -> None:
    engine, (first, second) = with_settled(make_engine, 2, maxChildrenPerAgent=1)

    reported = one_turn(engine, by_subagents(first), by_waiting(second))

    assert [each["status"] for each in reported] == ["accepted", "forbidden"]
    assert engine.ctl("state", second) == "idle"
    receipts: Any = engine.stores.redis.hgetall(engine.stores.keys.receipts(second))
    (refused,) = [raw for ident, raw in receipts.items() if ident.startswith("send-")]
    assert f'"{MessageState.REJECTED}"' in refused
    assert '"children"' in refused


def test_a_call_that_was_refused_stays_refused_when_it_is_made_again(make_engine: MakeEngine) -> None:
    """Rule 13: its owner died before it could write down what it was told, and there is room by now."""
    engine, (first, second) = with_settled(make_engine, 2, maxChildrenPerAgent=1)
    queued = engine.say(text(by_subagents(first), by_subagents(second), by_sessions_send(second), say("said")))
    engine.runner.run(*engine.waker.turns.pop())
    reported = answers(engine)[-3:]
    settle(engine)

    assert queued.run is not None
    while engine.log()[-1].role != "assistant" or len(answers(engine)) > 2:
        engine.stores.redis.rpop(engine.stores.keys.log(SESSION))
    again: dict[Any, Any] = {"state": "queued", "run": queued.run, "resumed": "1", "started": ""}
    again |= {"run_key": engine.stores.keys.run(queued.run)}
    engine.stores.redis.hset(engine.stores.keys.ctl(SESSION), mapping=again)
    engine.runner.run(SESSION, queued.run)

    assert [each["status"] for each in reported] == ["accepted", "forbidden", "forbidden"]
    assert answers(engine)[-3:] == reported
    assert len(children(engine)) == 3


def test_people_always_find_room(make_engine: MakeEngine) -> None:
    engine, settled = with_settled(make_engine, 2, maxChildrenPerAgent=1, maxTreeRuns=1)

    for child in settled:
        engine.say(text(say("for a person")), child)

    assert counts(engine) == (2, 2)


def test_a_child_at_work_takes_messages_whatever_the_limits_say(make_engine: MakeEngine) -> None:
    engine, (child,) = with_settled(make_engine, 1, maxChildrenPerAgent=1, maxTreeRuns=1)

    reported = one_turn(engine, by_subagents(child), by_steering(child), by_sessions_send(child))

    assert [each["status"] for each in reported] == ["accepted"] * 3
    assert counts(engine) == (1, 1)


def two_agents(make_engine: MakeEngine, main: dict[str, int], coder: dict[str, int]) -> EngineHarness:
    """`main` and `coder`, with these limits, may spawn each other."""
    agents = [
        {"id": name, "subagents": {"allowAgents": ["*"], **limits}}
        for name, limits in (("main", main), ("coder", coder))
    ]
    return make_engine({"agents": {"list": agents}})


def nesting(agents: list[str], *, width: int = 1) -> dict[str, Any]:
    """A task that has the first agent spawned, which has the next one spawned, and so on."""
    if not agents:
        return CHILD
    below = nesting(agents[1:], width=width)
    return program(spawn(*[below] * width, agentId=agents[0]), say("waiting"), say("done"))


def grown(engine: EngineHarness, task: dict[str, Any]) -> list[tuple[int, str]]:
    """Carry every turn but announce nothing: depth and role of all runs that came of it."""
    engine.say(text(*task["steps"]))
    engine.work()
    runs = [run for run in engine.stores.reader.runs(100) if run.is_child]
    return sorted((run.depth, str(run.role)) for run in runs)


def test_the_depth_of_a_tree_is_its_roots_whoever_spawns(make_engine: MakeEngine) -> None:
    engine = two_agents(make_engine, {"maxSpawnDepth": 2}, {"maxSpawnDepth": 5})

    assert grown(engine, nesting(["coder"] * 4)) == [(1, "orchestrator"), (2, "leaf")]


def test_an_agent_in_the_middle_may_narrow_a_tree_for_all_below_it(make_engine: MakeEngine) -> None:
    engine = two_agents(make_engine, {"maxSpawnDepth": 5}, {"maxSpawnDepth": 2})

    runs = grown(engine, nesting(["main", "coder", "main"]))

    assert runs == [(1, "orchestrator"), (2, "leaf")]


def test_what_the_middle_narrowed_is_handed_down(make_engine: MakeEngine) -> None:
    engine = two_agents(make_engine, {"maxSpawnDepth": 5, "maxTreeRuns": 9}, {"maxSpawnDepth": 3, "maxTreeRuns": 20})

    assert grown(engine, nesting(["coder", "main", "main", "main"])) == [
        (1, "orchestrator"),
        (2, "orchestrator"),
        (3, "leaf"),
    ]
    (first,) = children(engine)
    (second,) = children(engine, first.session_key)
    handed = [
        (row(engine, run.session_key)["maxSpawnDepth"], row(engine, run.session_key)["maxTreeRuns"])
        for run in (first, second)
    ]
    assert handed == [("5", "9"), ("3", "9")]


def test_the_number_of_runs_in_a_tree_is_its_roots_whoever_spawns(make_engine: MakeEngine) -> None:
    engine = two_agents(make_engine, {"maxTreeRuns": 3}, {"maxTreeRuns": 50})

    runs = grown(engine, nesting(["coder", "coder"], width=2))

    assert runs == [(1, "orchestrator"), (1, "orchestrator"), (2, "leaf")], "the fourth was one too many"
    refused = [each for run in children(engine) for each in answers(engine, run.session_key) if not each["accepted"]]
    assert "may have 3" in refused[0]["error"]


def test_a_follow_up_below_counts_by_the_roots_limit_too(make_engine: MakeEngine) -> None:
    engine = two_agents(make_engine, {"maxTreeRuns": 2}, {"maxTreeRuns": 50})
    leaf = program(say("leaf"))
    again = [use("subagents", action="send", target=f"#{number}", message=text(say("again"))) for number in (1, 2)]
    child = program(spawn(leaf), say("waiting"), spawn(leaf), say("waiting"), *again, say("waiting"), say("done"))
    engine.say(text(spawn(child, agentId="coder"), say("spawned"), say("heard")))

    settle(engine)

    (coder,) = children(engine)
    reported = answers(engine, coder.session_key)
    assert [each["status"] for each in reported] == ["accepted", "accepted", "accepted", "forbidden"]
