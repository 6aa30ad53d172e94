"""Every stored record and every task carries the form in which it was written."""

from __future__ import annotations

import json
from typing import Any

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.scripts import FOLDER
from tests.component.store.harness import SESSION, StoreHarness, child_key
from tests.component.store.repeats_of_edges import JOB


def hash_form(store: StoreHarness, key: str) -> Any:
    return store.redis.hget(key, "v")


def test_scripts_and_python_agree() -> None:
    assert f"local SCHEMA = {SCHEMA}\n" in FOLDER.joinpath("lib/schema.lua").read_text()


def test_records_of_sessions_and_runs(store: StoreHarness) -> None:
    keys, form = store.keys, str(SCHEMA)
    store.say("one")
    (waiting,) = store.redis.zrange(keys.inbox(SESSION), 0, -1)
    assert json.loads(str(waiting))["v"] == SCHEMA

    parent = store.take()
    store.spawn(parent, "a")
    store.commit(parent)

    child = child_key("a")
    hashes = [keys.row(SESSION), keys.ctl(SESSION), keys.run(parent.lease.run), keys.batch("batch-1")]
    hashes += [keys.row(child), keys.ctl(child), keys.run("run-a")]
    assert [(key, hash_form(store, key)) for key in hashes if hash_form(store, key) != form] == []
    entries = [json.loads(str(raw)) for raw in store.redis.lrange(keys.log(SESSION), 0, -1)]
    assert entries
    assert {entry["v"] for entry in entries} == {SCHEMA}


def test_jobs_and_messages_to_chats(store: StoreHarness) -> None:
    Schedules(store.redis, store.keys, log_entries=10).declare(JOB, 60_000)
    assert hash_form(store, store.keys.job(JOB.id)) == str(SCHEMA)

    message = OutgoingMessage(id="m", kind="reply", text="hi", route=Route(channel="telegram", to="1"))
    Outbox(store.redis, store.keys).put(message)
    stream: Any = store.redis.xrange(store.keys.outgoing)
    ((_, fields),) = stream
    assert json.loads(fields["message"])["v"] == SCHEMA
