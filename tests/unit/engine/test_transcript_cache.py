"""A worker remembers the transcripts it has read; after a failover that lost writes, what it remembers may be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openclaw_workers.models.runs import Lane
from openclaw_workers.store.turns import Taken
from tests.support.wire import Recorded, WireServer
from tests.unit.engine.conftest import SESSION, MakeHouse
from tests.unit.engine.wired_house import WiredHouse, wired_house


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture
def wired(make_house: MakeHouse, server: WireServer) -> WiredHouse:
    return wired_house(make_house, server, model="b/m")


def said(request: Recorded) -> list[str]:
    """What a request tells the model of the conversation."""
    return [_text(message["content"]) for message in request.body["messages"] if message["role"] != "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def in_its_place(wired: WiredHouse, index: int, text: str) -> None:
    """As if the last writes had been lost, and another worker had written this in their place since."""
    log, redis = wired.house.stores.keys.log(SESSION), wired.house.stores.redis
    entry = json.loads(str(redis.lindex(log, index)))
    entry["content"] = [{"type": "text", "text": text}]
    redis.lset(log, index, json.dumps({**entry, "timestamp": entry["timestamp"] + 1, "runId": "run-elsewhere"}))


def test_a_transcript_of_the_same_length_is_read_again_if_it_is_another(wired: WiredHouse, server: WireServer) -> None:
    wired.turn("one")
    wired.turn("lost")
    in_its_place(wired, 2, "said instead")
    in_its_place(wired, 3, "answered instead")

    wired.turn("three")

    told = " ".join(said(server.requests[-1]))
    assert "said instead" in told
    assert "answered instead" in told
    assert "lost" not in told


def test_a_transcript_that_only_grew_is_not_read_again(wired: WiredHouse) -> None:
    wired.turn("one")
    wired.turn("two")
    house = wired.house
    house.say("three")
    taken = house.turns.take(
        SESSION,
        house.waker.turns[0][1],
        Lane.MAIN,
        nonce="n",
        time_ms=60_000,
        freshness=house.preparer.freshness(SESSION),
        may_suspect=True,
        known=house.preparer.known(SESSION),
    )

    assert isinstance(taken, Taken)
    assert taken.known_holds
    assert len(taken.tail) == 2, "the answer of the turn before, and the new message"
