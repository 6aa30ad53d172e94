"""Another worker, of which nothing is there but what it wrote."""

from __future__ import annotations

from openclaw_workers.models.transcript import AssistantEntry
from openclaw_workers.store.turns import Taken
from tests.unit.engine.conftest import SESSION, House


def take_elsewhere(house: House) -> Taken:
    return house.take(nonce="elsewhere")


def die(house: House) -> None:
    """The owner's lease runs out and a sweep takes the session from it."""
    house.set_ctl("lease_until", 1)
    house.stores.redis.zadd(house.stores.keys.due, {f"turn|{SESSION}": 1})
    house.sweeper.sweep()


def call_recorded(house: House, taken: Taken, command: str) -> None:
    message = AssistantEntry.model_validate(
        {"content": [{"type": "toolCall", "id": "call-1", "name": "exec", "arguments": {"command": command}}]}
    )
    house.turns.step(taken.lease, taken.step + 1, [message], starting="call-1")
