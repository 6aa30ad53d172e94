"""Which sub-agent a person means."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.queries.subagents import SubagentIndex

ROOT = SessionKey("agent:main:main")


def child(name: str, label: str, *, of: str = ROOT, session: str = "", settled: bool = True) -> Run:
    return Run.model_validate(
        {
            "id": f"run-{name}",
            "session_key": f"agent:main:subagent:{session or name}",
            "requester_session_key": of,
            "label": label,
            "batch": f"batch-{name}",
            "state": "ok" if settled else "running",
            "settled_at": 1 if settled else None,
        }
    )


KNOWN = SubagentIndex(
    [
        child("1", "read"),
        child("2", "write", settled=False),
        child("3", "write"),
        child("4", "below", of="agent:main:subagent:2"),
        child("5", "elsewhere", of="agent:main:other"),
        child("6", "read", session="1"),
    ]
)


def test_a_number_is_the_place_in_the_order_of_spawning() -> None:
    assert KNOWN.find("4").id == "run-4"
    for beyond in ("0", "7"):
        with pytest.raises(NotFound, match=f"no sub-agent #{beyond}"):
            KNOWN.find(beyond)


def test_a_label_means_an_active_sub_agent_before_those_that_have_ended() -> None:
    assert KNOWN.find("Write").id == "run-2"


def test_a_session_with_several_runs_means_its_last_one() -> None:
    assert KNOWN.find("read").id == KNOWN.find("agent:main:subagent:1").id == "run-6"


def test_a_label_of_several_sessions_is_refused() -> None:
    twins = SubagentIndex([child("1", "twin"), child("2", "twin")])
    with pytest.raises(BadInput, match=r"several sub-agents are called 'twin': #1, #2"):
        twins.find("twin")


def test_sub_agents_below_a_session_are_listed_at_any_depth_with_their_numbers() -> None:
    assert [number for number, _ in KNOWN.below(ROOT)] == [1, 2, 3, 4, 6]
    assert [number for number, _ in KNOWN.below(SessionKey("agent:main:other"))] == [5]
    assert len(KNOWN.below(None)) == 6
