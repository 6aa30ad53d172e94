"""Records that newer code wrote: not misread, not taken for damage, and named with the next step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.stored_json import SCHEMA, check_json_form
from openclaw_workers.domain.transcript import load_entry
from openclaw_workers.errors import NewerRecord
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine

NEWER = SCHEMA + 1


def newer_control(engine: EngineHarness) -> None:
    engine.set_ctl("v", NEWER)


def newer_message(engine: EngineHarness) -> None:
    """The first message that waits was sent by newer code."""
    redis, inbox = engine.stores.redis, engine.stores.keys.inbox(SESSION)
    raw = str(redis.zrange(inbox, 0, 0)[0])
    redis.zrem(inbox, raw)
    redis.zadd(inbox, {json.dumps({**json.loads(raw), "v": NEWER, "text": {"of": "another form"}}): 1})


@pytest.mark.parametrize("make_newer", [newer_control, newer_message])
def test_a_session_of_newer_code_is_left_to_newer_workers(
    engine: EngineHarness, make_newer: Callable[[EngineHarness], None]
) -> None:
    queued = engine.say("hello")
    make_newer(engine)

    with capture_logs() as logs:
        assert engine.work() == 0

    assert engine.receipt(queued).state == "accepted"
    assert engine.ctl("state") == "queued"
    assert "run.newer" in [line["event"] for line in logs]
    assert engine.stores.reader.quarantined() == []


def test_a_newer_message_is_not_answered_together_with_others(make_engine: MakeEngine) -> None:
    engine = make_engine({"messages": {"queue": {"mode": "collect", "debounceMs": 0}}})
    first, second = engine.say("one"), engine.say("two")
    redis, inbox = engine.stores.redis, engine.stores.keys.inbox(SESSION)
    raw = str(redis.zrange(inbox, 1, 1)[0])
    redis.zrem(inbox, raw)
    redis.zadd(inbox, {json.dumps({**json.loads(raw), "v": NEWER}): 2})

    assert engine.work() == 1

    assert engine.run_of(first).state is RunState.OK
    assert engine.receipt(second).state == "accepted"


def test_an_older_worker_does_not_hide_that_newer_code_was_at_work(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    newer_control(engine)
    engine.say("again")
    assert engine.ctl("v") == str(NEWER)
    assert engine.work() == 0


def test_readers_say_that_a_record_is_newer(engine: EngineHarness) -> None:
    queued = engine.say("hello")
    engine.work()
    stores, run = engine.stores, engine.run_of(queued).id
    log = stores.keys.log(SESSION)
    entry = json.loads(str(stores.redis.lindex(log, 0)))

    for key, read in (
        (stores.keys.row(SESSION), lambda: stores.reader.session(SESSION)),
        (stores.keys.run(run), lambda: stores.reader.run(RunId(run))),
    ):
        stores.redis.hset(key, "v", NEWER)
        with pytest.raises(NewerRecord, match="written by a newer version") as caught:
            read()
        assert "update" in (caught.value.hint or "")
    stores.redis.lset(log, 0, json.dumps({**entry, "v": NEWER}))
    with pytest.raises(NewerRecord):
        engine.log()
    assert stores.reader.quarantined() == [], "a newer record is not damaged"


def test_a_transcript_of_a_newer_form_ends_the_turn_with_that_reason(engine: EngineHarness) -> None:
    """The session itself is not marked: something else than a turn wrote the entry."""
    redis, log = engine.stores.redis, engine.stores.keys.log(SESSION)
    redis.rpush(log, json.dumps({"v": NEWER, "role": "user", "content": "another form"}))
    queued = engine.say("hello")
    engine.work()
    run = engine.run_of(queued)
    assert run.state is RunState.ERROR
    assert "newer version" in (run.error or "")


TEXT = [{"type": "text", "text": 'say "v": 9'}]
USE = [{"type": "toolCall", "id": "1", "name": "x", "arguments": {"v": 9}}]


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "user", "content": TEXT, "v": SCHEMA},
        {"role": "assistant", "content": USE, "v": SCHEMA},
        {"v": SCHEMA, "role": "assistant", "content": USE},
        {"role": "user", "content": []},
    ],
)
def test_only_the_form_of_the_record_itself_counts(entry: dict[str, Any]) -> None:
    for raw in (json.dumps(entry), json.dumps(entry, separators=(",", ":"))):
        check_json_form(raw, "it")
        load_entry(raw)
