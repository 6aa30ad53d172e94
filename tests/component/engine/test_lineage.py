"""Where a session stands in its tree: depth by what is stored, by the chain, by the key; role and scope by depth."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.tree import Role, role_at
from openclaw_workers.engine.tree.lineage import depth_of, root_of
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.support.tool_policy import tools_at

A, B, C = (SessionKey(f"agent:main:subagent:{name}") for name in "abc")


def write(engine: EngineHarness, session: SessionKey, **row: str) -> None:
    fields = {"sessionKey": session, "agentId": "main", "sessionId": "sid", **row}
    engine.stores.redis.hset(engine.stores.keys.row(session), mapping=fields)  # type: ignore[arg-type]


def depth(engine: EngineHarness, session: SessionKey) -> int:
    return depth_of(session, engine.stores.reader.row(session), engine.stores.reader)


def test_the_stored_depth_goes_before_all_else(engine: EngineHarness) -> None:
    write(engine, A, spawnDepth="3", spawnedBy=SESSION)
    assert depth(engine, A) == 3


def test_without_one_it_is_the_parents_and_one_more(engine: EngineHarness) -> None:
    write(engine, A, spawnDepth="1")
    write(engine, B, spawnedBy=A)
    write(engine, C, spawnedBy=B)
    assert depth(engine, C) == 3


def test_a_parent_that_is_gone_is_judged_by_its_key(engine: EngineHarness) -> None:
    write(engine, B, spawnedBy=A)
    assert depth(engine, B) == 2
    write(engine, C, spawnedBy=SESSION)
    assert depth(engine, C) == 1


def test_without_anything_the_key_tells(engine: EngineHarness) -> None:
    write(engine, SESSION)
    assert depth(engine, SESSION) == 0
    assert depth(engine, A) == 1
    assert depth(engine, SessionKey("agent:main:subagent:a:subagent:b")) == 2


def test_a_depth_that_is_no_number_is_none(engine: EngineHarness) -> None:
    write(engine, A, spawnDepth="deep", spawnedBy=SESSION)
    assert depth(engine, A) == 1


@pytest.mark.timeout(10)
def test_a_chain_that_bites_its_tail_ends(engine: EngineHarness) -> None:
    write(engine, A, spawnedBy=B)
    write(engine, B, spawnedBy=A)
    assert depth(engine, A) >= 2
    write(engine, C, spawnedBy=C)
    assert depth(engine, C) >= 1


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
        tools_at(depth, role) for depth, role in ((0, Role.MAIN), (1, Role.ORCHESTRATOR), (2, Role.LEAF))
    )
    assert "sessions_spawn" in root & middle
    assert "sessions_spawn" not in leaf
    assert leaf < middle <= root
