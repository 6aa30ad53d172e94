"""Where a session stands in its tree: depth by what is stored, by the chain, by the key; role and scope by depth."""

from __future__ import annotations

import pytest

from openclaw_workers.engine.lineage import depth_of, root_of
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.tree import Role, role_at
from openclaw_workers.tools.policy import tools_at
from tests.unit.engine.conftest import SESSION, House

A, B, C = (SessionKey(f"agent:main:subagent:{name}") for name in "abc")


def write(house: House, session: SessionKey, **row: str) -> None:
    fields = {"sessionKey": session, "agentId": "main", "sessionId": "sid", **row}
    house.stores.redis.hset(house.stores.keys.row(session), mapping=fields)  # type: ignore[arg-type]


def depth(house: House, session: SessionKey) -> int:
    return depth_of(session, house.stores.reader.row(session), house.stores.reader)


def test_the_stored_depth_goes_before_all_else(house: House) -> None:
    write(house, A, spawnDepth="3", spawnedBy=SESSION)
    assert depth(house, A) == 3


def test_without_one_it_is_the_parents_and_one_more(house: House) -> None:
    write(house, A, spawnDepth="1")
    write(house, B, spawnedBy=A)
    write(house, C, spawnedBy=B)
    assert depth(house, C) == 3


def test_a_parent_that_is_gone_is_judged_by_its_key(house: House) -> None:
    write(house, B, spawnedBy=A)
    assert depth(house, B) == 2
    write(house, C, spawnedBy=SESSION)
    assert depth(house, C) == 1


def test_without_anything_the_key_tells(house: House) -> None:
    write(house, SESSION)
    assert depth(house, SESSION) == 0
    assert depth(house, A) == 1
    assert depth(house, SessionKey("agent:main:subagent:a:subagent:b")) == 2


def test_a_depth_that_is_no_number_is_none(house: House) -> None:
    write(house, A, spawnDepth="deep", spawnedBy=SESSION)
    assert depth(house, A) == 1


@pytest.mark.timeout(10)
def test_a_chain_that_bites_its_tail_ends(house: House) -> None:
    write(house, A, spawnedBy=B)
    write(house, B, spawnedBy=A)
    assert depth(house, A) >= 2
    write(house, C, spawnedBy=C)
    assert depth(house, C) >= 1


def test_the_root_is_named_in_the_row_or_is_the_session_itself() -> None:
    assert root_of(A, {"rootSessionKey": SESSION}) == SESSION
    assert root_of(SESSION, {}) == SESSION


@pytest.mark.parametrize(
    ("at", "deepest", "role"),
    [
        (0, 1, Role.MAIN),
        (1, 1, Role.LEAF),
        (1, 2, Role.ORCHESTRATOR),
        (2, 2, Role.LEAF),
        (2, 3, Role.ORCHESTRATOR),
        (4, 3, Role.LEAF),
    ],
)
def test_roles_by_depth(at: int, deepest: int, role: Role) -> None:
    assert role_at(at, deepest) is role


def test_a_leaf_has_no_tool_to_spawn_or_control_with() -> None:
    root, middle, leaf = (
        {tool.name for tool in tools_at(depth, role)}
        for depth, role in ((0, Role.MAIN), (1, Role.ORCHESTRATOR), (2, Role.LEAF))
    )
    assert "sessions_spawn" in root & middle
    assert "sessions_spawn" not in leaf
    assert leaf < middle <= root
