"""A worker remembers the transcripts it has read; after a failover that lost writes, what it remembers may be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.domain.runs import Lane
from openclaw_workers.store.turn_records import Taken
from tests.component.engine.conftest import SESSION, MakeEngine
from tests.component.engine.wire_harness import WireHarness, wire_engine
from tests.support.wire import Recorded, WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture
def wired(make_engine: MakeEngine, server: WireServer) -> WireHarness:
    return wire_engine(make_engine, server, model="b/m")


def said(request: Recorded) -> list[str]:
    """What a request tells the model of the conversation."""
    return [_text(message["content"]) for message in request.body["messages"] if message["role"] != "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def in_its_place(wired: WireHarness, index: int, text: str) -> None:
    """As if the last writes had been lost, and another worker had written this in their place since."""
    log, redis = wired.engine.stores.keys.log(SESSION), wired.engine.stores.redis
    entry = json.loads(str(redis.lindex(log, index)))
    entry["content"] = [{"type": "text", "text": text}]
    redis.lset(log, index, json.dumps({**entry, "timestamp": entry["timestamp"] + 1, "runId": "run-elsewhere"}))


def test_a_transcript_of_the_same_length_is_read_again_if_it_is_another(wired: WireHarness, server: WireServer) -> None:
    wired.turn("one")
    wired.turn("lost")
    in_its_place(wired, 2, "said instead")
    in_its_place(wired, 3, "answered instead")

    wired.turn("three")

    reported = " ".join(said(server.requests[-1]))
    assert "said instead" in reported
    assert "answered instead" in reported
    assert "lost" not in reported


def test_a_transcript_that_only_grew_is_not_read_again(wired: WireHarness) -> None:
    wired.turn("one")
    wired.turn("two")
    engine = wired.engine
    engine.say("three")
    taken = engine.turns.take(
        SESSION,
        engine.waker.turns[0][1],
        Lane.MAIN,
        nonce="n",
        time_ms=60_000,
        freshness=engine.built.resets.times(SESSION),
        may_suspect=True,
        known=engine.built.transcripts.known(SESSION),
    )

    assert isinstance(taken, Taken)
    assert taken.known_holds
    assert len(taken.tail) == 2, "the answer of the turn before, and the new message"
