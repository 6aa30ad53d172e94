"""Following a message when the events tell only half of the story: the record decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.cli.follow import Ended, Follower, Gap, Note
from openclaw_workers.config.loader import load
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.engine.stores import Stores, open_stores
from openclaw_workers.errors import NotFound
from openclaw_workers.store.reader import Event
from tests.support.redis_server import RedisServer

SESSION = SessionKey("agent:main:followed")
MESSAGE, RUN, OTHER = MessageId("msg-1"), RunId("run-1"), RunId("run-2")


@pytest.fixture
def stores(redis_server: RedisServer, namespace: str, tmp_path: Path) -> Iterator[Stores]:
    (tmp_path / "openclaw.yaml").write_text(f"engine: {{namespace: {namespace}}}\n")
    stores = open_stores(load(cwd=tmp_path, env={}).settings, redis_server.url)
    yield stores
    stores.redis.close()


class Past:
    """Writes what the scripts would have left behind."""

    def __init__(self, stores: Stores) -> None:
        self._redis, self._keys = stores.redis, stores.keys
        self._seq = 0

    def event(self, kind: str, *, missed: int = 0, **data: object) -> None:
        self._seq += 1 + missed
        fields = {"type": kind, "seq": self._seq, "at": 1, "data": json.dumps(data)}
        self._redis.xadd(self._keys.events(SESSION), fields)  # type: ignore[arg-type]

    def receipt(self, state: str, run: RunId | None = None) -> None:
        self._redis.hset(self._keys.receipts(SESSION), MESSAGE, json.dumps({"state": state, "run": run}))

    def run(self, run: RunId, state: str, **fields: str) -> None:
        record = {"id": run, "session_key": SESSION, "state": state, **fields}
        self._redis.hset(self._keys.run(run), mapping=record)  # type: ignore[arg-type]


@pytest.fixture
def past(stores: Stores) -> Past:
    return Past(stores)


def _seen(follower: Follower) -> list[str]:
    """Types of what was passed on, up to the end or a wait."""
    seen = []
    for update in follower:
        match update:
            case Event():
                seen.append(update.type)
            case Gap() | Ended():
                seen.append(type(update).__name__)
            case Note(text):
                seen.append(text)
    return seen


def test_only_the_run_that_covers_the_message_is_passed_on(stores: Stores, past: Past) -> None:
    past.receipt("accepted")
    past.event("text.delta", run=OTHER, text="not for us")
    past.event("run.ended", run=OTHER, covers=["msg-0"])
    past.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    past.event("text.delta", run=RUN, text="for us")
    follower = iter(Follower(stores, SESSION, message=MESSAGE, run=OTHER))

    seen = [next(follower) for _ in range(2)]
    past.receipt("answered", RUN)
    past.run(RUN, "ok", text="for us, whole")
    past.event("run.ended", run=RUN, covers=[MESSAGE])
    *_, last = follower

    assert [update.type for update in seen if isinstance(update, Event)] == ["run.started", "text.delta"]
    assert isinstance(last, Ended)
    assert last.run is not None
    assert last.run.text == "for us, whole"


@pytest.mark.parametrize(("with_children", "before"), [(True, ["subagent.announced"]), (False, [])])
def test_sub_agents_that_report_before_the_run_begins_are_told_to_who_waits_for_them(
    stores: Stores, past: Past, with_children: bool, before: list[str]
) -> None:
    past.event("run.ended", run=OTHER, covers=["msg-0"])
    after = stores.reader.last_event_id(SESSION)
    past.receipt("answered", RUN)
    past.run(RUN, "ok")
    past.event("subagent.announced", batch="batch-2", runs=[{"run": "run-3"}])
    past.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    past.event("run.ended", run=RUN, covers=[MESSAGE])

    follower = Follower(stores, SESSION, message=MESSAGE, after=after, with_children=with_children)

    assert _seen(follower) == [*before, "run.started", "run.ended", "Ended"]


def test_a_gap_makes_it_look_at_the_record_at_once(stores: Stores, past: Past) -> None:
    past.receipt("accepted")
    past.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    follower = iter(Follower(stores, SESSION, message=MESSAGE))
    assert isinstance(next(follower), Event)

    past.receipt("answered", RUN)
    past.run(RUN, "ok")
    past.event("text.delta", missed=3, run=OTHER, text="a later run")
    rest = [type(update).__name__ for update in follower]

    assert [name for name in rest if name != "Quiet"] == ["Gap", "Ended"]


def test_silence_makes_it_look_at_the_record(stores: Stores, past: Past) -> None:
    past.receipt("bound", RUN)
    past.run(RUN, "running")
    follower = iter(Follower(stores, SESSION, message=MESSAGE, after="1-0", block_ms=50))
    next(follower)

    past.receipt("answered", RUN)
    past.run(RUN, "ok")

    *_, last = follower
    assert isinstance(last, Ended), "no event told it"


def test_a_run_that_is_only_shown_the_message_does_not_answer_it(stores: Stores, past: Past) -> None:
    past.receipt("accepted")  # queue mode steer-backlog: it stays in the inbox for a turn of its own
    past.event("run.steered", run=OTHER, messages=[MESSAGE])
    past.event("run.ended", run=OTHER, covers=["msg-0"])
    follower = Follower(stores, SESSION, message=MESSAGE, block_ms=50)
    next(iter(follower))
    assert follower.run is None

    past.receipt("answered", RUN)
    past.run(RUN, "ok")
    past.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    past.event("run.ended", run=RUN, covers=[MESSAGE])

    assert _seen(follower) == ["run.started", "run.ended", "Ended"]


def test_a_message_cancelled_before_its_turn_ends_the_wait(stores: Stores, past: Past) -> None:
    past.receipt("cancelled")

    [ended] = Follower(stores, SESSION, message=MESSAGE)

    assert isinstance(ended, Ended)
    assert (ended.run, ended.receipt and ended.receipt.state) == (None, "cancelled")


def test_a_message_nobody_knows_is_not_waited_for(stores: Stores) -> None:
    with pytest.raises(NotFound, match="msg-1 is not known"):
        list(Follower(stores, SESSION, message=MESSAGE))
