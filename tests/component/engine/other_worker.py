"""Another worker, of which nothing is there but what it wrote."""

from __future__ import annotations

from openclaw_workers.domain.transcript import AssistantEntry
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, EngineHarness


def take_elsewhere(engine: EngineHarness) -> Taken:
    return engine.take(nonce="elsewhere")


def die(engine: EngineHarness) -> None:
    """The owner's lease runs out and a sweep takes the session from it."""
    engine.set_ctl("lease_until", 1)
    engine.stores.redis.zadd(engine.stores.keys.due, {f"turn|{SESSION}": 1})
    engine.sweeper.sweep()


def call_recorded(engine: EngineHarness, taken: Taken, command: str) -> None:
    message = AssistantEntry.model_validate(
        {"content": [{"type": "toolCall", "id": "call-1", "name": "exec", "arguments": {"command": command}}]}
    )
    engine.turns.step(taken.lease, taken.step + 1, [message], starting="call-1")
