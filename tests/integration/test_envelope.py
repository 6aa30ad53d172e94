"""The wake-up that scripts push equals the message that Celery would publish."""

from __future__ import annotations

import base64
import json
from typing import Any

from openclaw_workers.domain.ids import RunId, SessionKey
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

    sealed = json.loads(bare_fleet.waker.sealed(SESSION, RunId("run-1")))

    assert sealed.keys() == published.keys()
    assert flat(sealed) == flat(published)


def test_a_session_named_like_a_placeholder_of_the_envelope_changes_nothing(bare_fleet: Fleet) -> None:
    session = SessionKey("agent:main:telegram:dm:@BODY@@ID@")
    message = json.loads(bare_fleet.waker.sealed(session, RunId("run-1")))

    assert f"({session}," in message["headers"]["argsrepr"]
    assert json.loads(base64.b64decode(message["body"]))[0] == [session, "run-1"]


def test_a_wake_up_has_ids_and_session_but_no_message_text(bare_fleet: Fleet) -> None:
    bare_fleet.send("the secret plan", session="agent:main:main")
    raw = str(bare_fleet.stores.redis.lpop(bare_fleet.queue_key))

    message = json.loads(raw)
    args, kwargs, _ = json.loads(base64.b64decode(message["body"]))
    run = message["headers"]["id"]
    assert (args, kwargs) == (["agent:main:main", run], {})
    assert message["headers"]["argsrepr"] == f"(agent:main:main, lane=main, agent=main, {run})"
    assert "secret plan" not in raw + json.dumps(args)
