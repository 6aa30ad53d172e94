"""Programs of children and their due items, for tests of announces."""

from __future__ import annotations

from tests.component.engine.conftest import EngineHarness
from tests.support.programs import program, say, spawn

LEAF = program(say("leaf's word"))


MIDDLE = program(spawn(LEAF), say("waiting"), say("middle's word"))


def due_at(engine: EngineHarness, item: str) -> float:
    return float(engine.stores.redis.zscore(engine.stores.keys.due, item) or 0)
