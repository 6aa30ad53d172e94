"""Which queues of the broker belong to a lane: that of the lane, and one for each place that holds files of agents.

Whoever counts what waits for a lane counts them all: status, metrics and the feed of changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from openclaw_workers.domain.runs import WORKER_LANES, Lane
from openclaw_workers.store.keys import Keys, queue_name
from openclaw_workers.store.places import MOVING


def lane_queues(keys: Keys, bindings: Iterable[str]) -> dict[Lane, list[str]]:
    """The keys of each lane's queues. `bindings`: what the agents are bound to, the values of `keys.places`."""
    places = sorted({place for place in bindings if not place.startswith(MOVING)})
    return {lane: [keys.broker_queue(queue_name(lane, place)) for place in ("", *places)] for lane in WORKER_LANES}
