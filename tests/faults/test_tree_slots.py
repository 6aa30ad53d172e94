"""A deep tree with one slot per lane: waiting runs hold no slot (I4, I8)."""

from __future__ import annotations

import threading

from openclaw_workers.domain.runs import Lane, RunState
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet, session_key
from tests.support.programs import Program, program, say, spawn
from tests.support.tree import announces, batch_of, check_tree

PARKED_WITH_SLOT = """
local found = {}
for _, session in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
  if redis.call("HGET", ARGV[1] .. session .. ":ctl", "state") == "parked" then
    found[#found + 1] = session
  end
end
return { redis.call("ZCARD", KEYS[1]), found }
"""


class Watch(threading.Thread):
    """Polls the slots of the sub-agent lane."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(name="watch", daemon=True)
        self._redis, self._keys = fleet.stores.redis, fleet.stores.keys
        self._over = threading.Event()
        self.most = 0
        self.parked: set[str] = set()

    def run(self) -> None:
        look = self._redis.register_script(PARKED_WITH_SLOT)
        while not self._over.wait(0.002):
            slots, parked = look([self._keys.slots(Lane.SUBAGENT)], [f"{self._keys.namespace}:s:"])
            self.most = max(self.most, slots)
            self.parked |= set(map(str, parked))

    def stop(self) -> None:
        self._over.set()
        self.join(10)


def tree(depth: int) -> Program:
    return (
        program(spawn(*[tree(depth - 1)] * 4), say("waiting"), say(f"done {depth}")) if depth else program(say("leaf"))
    )


def test_a_deep_tree_with_one_slot_per_lane_finishes_from_the_leaves_up(make_fleet: MakeFleet) -> None:
    """I4, I8: 84 runs share one slot. A waiting parent holds no slot and settles after all its descendants."""
    limits = {"maxSpawnDepth": 3, "maxTreeRuns": 100}
    lanes = {"main": {"maxConcurrent": 1}, "subagent": {"maxConcurrent": 1}}
    fleet = make_fleet({"lanes": lanes, "agents": {"defaults": {"subagents": limits}}})
    start_workers(fleet, "main", "subagent", "subagent", "service", concurrency=2)
    watch = Watch(fleet)
    watch.start()
    fleet.send(tree(3))
    runs = check_tree(fleet.stores, session_key("main"), within=90)
    watch.stop()

    assert len(runs) == 4 + 16 + 64
    assert {run.state for run in runs} == {RunState.OK}
    assert (watch.most, watch.parked) == (1, set())
    by_id = {run.id: run for run in runs}
    for run in runs:
        above = by_id.get(run.parent_run_id) if run.parent_run_id else None
        while above is not None:
            assert (run.settled_at or 0) <= (above.settled_at or 0), f"{above.id} settled before {run.id} below it"
            assert (run.settled_at or 0) <= (batch_of(fleet.stores, above).announced_at or 0)
            above = by_id.get(above.parent_run_id) if above.parent_run_id else None
    assert len(announces(fleet.transcript())) == 1
