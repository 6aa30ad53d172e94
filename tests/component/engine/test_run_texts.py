"""A run's text: with its record for an hour, and afterwards in the transcript or the archive."""

from __future__ import annotations

from openclaw_workers.domain.runs import Run
from openclaw_workers.engine.client_graph import control_of
from openclaw_workers.store.keys import TEXTS
from tests.component.engine.conftest import SESSION, EngineHarness
from tests.component.engine.session_steps import run_on, text
from tests.support.programs import program, say, spawn

HOUR = 3600


def answered(engine: EngineHarness, answer: str = "the answer") -> Run:
    queued = engine.say(text(say(answer)))
    engine.work()
    return engine.run_of(queued)


def an_hour_later(engine: EngineHarness) -> None:
    """Remove what would have expired by then."""
    redis = engine.stores.redis
    for key in redis.scan_iter(f"{engine.stores.keys.namespace}:*"):
        if 0 < redis.ttl(key) <= HOUR:
            redis.delete(key)


def read(engine: EngineHarness, run: Run) -> Run:
    found = engine.stores.reader.run(run.id)
    assert found is not None
    return found


def test_a_text_expires_beside_its_record_and_is_found_in_the_transcript(engine: EngineHarness) -> None:
    run = answered(engine)
    keys, redis = engine.stores.keys, engine.stores.redis
    assert not redis.hexists(keys.run(run.id), "text")
    assert 0 < redis.ttl(keys.run(run.id) + TEXTS) <= HOUR
    answered(engine, "another one")

    an_hour_later(engine)

    assert engine.stores.reader.some_runs([run.id])[0].text is None
    assert read(engine, run).text == "the answer"


def test_the_text_of_a_session_that_was_reset_is_found_in_its_archive(engine: EngineHarness) -> None:
    run = answered(engine)
    control_of(engine.stores, engine.waker).reset(SESSION)
    answered(engine, "of another conversation")

    an_hour_later(engine)

    assert read(engine, run).text == "the answer"


def test_a_long_text_is_not_stored_twice_and_is_read_whole(engine: EngineHarness) -> None:
    long = "ä" * 10_000
    run = answered(engine, long)

    kept = engine.stores.redis.hget(engine.stores.keys.run_texts(run.id), "text")

    assert kept is not None
    assert len(str(kept).encode()) <= 8192
    assert run.text == long


def test_a_reply_that_is_in_no_transcript_stays_in_the_record(engine: EngineHarness) -> None:
    queued = engine.say("/new")
    engine.work()
    run = engine.run_of(queued)
    assert run.text

    an_hour_later(engine)

    assert read(engine, run).text == run.text


def test_a_silent_run_has_no_text_later_either(engine: EngineHarness) -> None:
    run = answered(engine, "NO_REPLY")
    an_hour_later(engine)
    assert not read(engine, run).text


def test_the_result_of_a_sub_agent_is_kept_whole_until_it_is_announced(engine: EngineHarness) -> None:
    long = "result " * 3_000
    slow = spawn(program(say("late")))
    engine.say(text(spawn(program(say(long))), slow, say("spawned"), say("heard")))
    engine.runner.run(*engine.waker.turns.pop(0))
    first, _ = engine.stores.tree.children(SESSION)
    engine.runner.run(first.session_key, first.id)
    texts = engine.stores.keys.run_texts(first.id)

    assert engine.stores.redis.ttl(texts) == -1
    assert engine.stores.redis.hget(texts, "text") == long
    run_on(engine)
    assert 0 < engine.stores.redis.ttl(texts) <= HOUR
