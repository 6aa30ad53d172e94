"""The wake-up that scripts push equals the message that Celery would publish."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Lane, lane_of
from openclaw_workers.engine.queue_waker import QueueWaker
from openclaw_workers.engine.wake import Waker
from openclaw_workers.store.wake_messages import WakeMessages
from tests.support.fleet import Fleet

SESSION = SessionKey("agent:main:telegram:group:-100")
VARYING = {"woken_at", "delivery_tag"}


def flat(message: dict[str, Any]) -> dict[str, Any]:
    """A flat copy, without the fields that differ between two publishes."""
    parts = {**message["headers"], **message["properties"], **{k: v for k, v in message.items() if k[0] in "bc"}}
    return {name: value for name, value in parts.items() if name not in VARYING}


def test_a_sealed_wake_up_equals_a_published_one(bare_fleet: Fleet) -> None:
    bare_fleet.waker.turn(SESSION, RunId("run-1"))
    published = json.loads(str(bare_fleet.stores.redis.lpop(bare_fleet.queue_key)))

    wake_text = json.loads(bare_fleet.waker.wake_text(SESSION, RunId("run-1")))

    assert wake_text.keys() == published.keys()
    assert flat(wake_text) == flat(published)


def test_a_session_named_like_a_placeholder_of_the_envelope_changes_nothing(bare_fleet: Fleet) -> None:
    session = SessionKey("agent:main:telegram:dm:@BODY@@ID@")
    message = json.loads(bare_fleet.waker.wake_text(session, RunId("run-1")))

    assert f"({session})" in message["headers"]["argsrepr"]
    assert json.loads(base64.b64decode(message["body"]))[0] == [session, "run-1"]


def test_a_wake_up_has_ids_and_session_but_no_message_text(bare_fleet: Fleet) -> None:
    bare_fleet.send("the secret plan", session="agent:main:main")
    raw = str(bare_fleet.stores.redis.lpop(bare_fleet.queue_key))

    message = json.loads(raw)
    args, kwargs, _ = json.loads(base64.b64decode(message["body"]))
    run = message["headers"]["id"]
    assert (args, kwargs) == (["agent:main:main", run], {})
    assert message["headers"]["argsrepr"] == "(agent:main:main)"
    assert "secret plan" not in raw + json.dumps(args)


CHILD = SessionKey("agent:main:subagent:11111111-1111-4111-8111-111111111111")
BATCH = BatchId("batch-0123456789abcdef")


@pytest.fixture
def queue_waker(bare_fleet: Fleet) -> QueueWaker:
    """A client without Celery, with the templates that a worker has kept."""
    stores = bare_fleet.stores
    WakeMessages(stores.redis, stores.keys).keep(bare_fleet.waker.templates())
    return QueueWaker(stores.redis, stores.keys, never)


def never() -> Waker:
    raise AssertionError("Celery is not needed")


def popped(fleet: Fleet, lane: Lane) -> dict[str, Any]:
    return dict(json.loads(str(fleet.stores.redis.lpop(fleet.stores.keys.broker_queue(lane)))))


@pytest.mark.parametrize("session", [SESSION, CHILD])
def test_a_client_without_celery_publishes_the_same_turn(
    bare_fleet: Fleet, queue_waker: QueueWaker, session: SessionKey
) -> None:
    bare_fleet.waker.turn(session, RunId("run-1"))
    published = popped(bare_fleet, lane_of(session))

    assert queue_waker.turn(session, RunId("run-1"))

    assert flat(popped(bare_fleet, lane_of(session))) == flat(published)


def test_a_client_without_celery_publishes_the_same_chord(bare_fleet: Fleet, queue_waker: QueueWaker) -> None:
    redis, children = bare_fleet.stores.redis, [(CHILD, RunId("run-1")), (CHILD, RunId("run-2"))]
    bare_fleet.waker.chord(BATCH, children)
    published = [flat(popped(bare_fleet, Lane.SUBAGENT)) for _ in children]
    sizes = {key: redis.get(key) for key in redis.scan_iter(f"*{BATCH}.s")}
    redis.delete(*sizes)

    assert queue_waker.chord(BATCH, children)

    assert [flat(popped(bare_fleet, Lane.SUBAGENT)) for _ in children] == published
    assert {key: redis.get(key) for key in redis.scan_iter(f"*{BATCH}.s")} == sizes
    assert len(sizes) == 1


def test_a_client_has_celery_do_it_while_no_worker_has_kept_blanks(bare_fleet: Fleet) -> None:
    stores = bare_fleet.stores
    waker = QueueWaker(stores.redis, stores.keys, lambda: bare_fleet.waker)

    assert flat(json.loads(waker.wake_text(SESSION, RunId("run-1")))) == flat(
        json.loads(bare_fleet.waker.wake_text(SESSION, RunId("run-1")))
    )
