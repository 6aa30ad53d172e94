"""Sessions of stateless requests go by themselves when nobody has used them for a while."""

from __future__ import annotations

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry, UserEntry
from tests.component.engine.conftest import EngineHarness
from tests.support.programs import as_text, program, say

KEY = SessionKey("agent:main:openai:1")
ITEM = f"cleanup|{KEY}"


def create(engine: EngineHarness, keep_seconds: int) -> None:
    entries: list[TranscriptEntry] = [
        UserEntry(content=[TextBlock(text="a")]),
        AssistantEntry(content=[TextBlock(text="b")]),
    ]
    assert engine.stores.sessions.create_temporary(KEY, entries, row={"sessionKind": "main"}, keep_seconds=keep_seconds)


def sweep(engine: EngineHarness) -> float | None:
    """Sweep when it is due, and return when it is due next."""
    engine.stores.redis.zadd(engine.stores.keys.due, {ITEM: 1})
    engine.sweeper.sweep()
    return engine.stores.redis.zscore(engine.stores.keys.due, ITEM)


def test_one_that_was_not_used_is_deleted_without_an_archive(engine: EngineHarness) -> None:
    create(engine, keep_seconds=0)
    engine.say(as_text(program(say("c"))), KEY)
    engine.work()
    assert [entry.role for entry in engine.log(KEY)] == ["user", "assistant", "user", "assistant"]

    assert sweep(engine) is None

    assert engine.stores.reader.session(KEY) is None
    assert engine.log(KEY) == []
    assert engine.stores.redis.hlen(engine.stores.keys.archives) == 0


def test_one_that_was_used_lately_or_is_at_work_stays(engine: EngineHarness) -> None:
    create(engine, keep_seconds=3600)
    assert sweep(engine) is not None
    assert engine.stores.reader.session(KEY) is not None


def test_one_with_a_message_that_waits_stays(engine: EngineHarness) -> None:
    create(engine, keep_seconds=0)
    engine.say(as_text(program(say("c"))), KEY)
    assert sweep(engine) is not None
    assert len(engine.log(KEY)) == 2
