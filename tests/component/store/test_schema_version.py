"""Every stored record and every task carries the form in which it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openclaw_workers.domain.ids import RunId, WorkerId
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.question import Question, QuestionKind
from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.channels import ChannelAccount, Channels
from openclaw_workers.store.memory_notes import MemoryNote, MemoryNotes
from openclaw_workers.store.place_requests import PlaceRequests
from openclaw_workers.store.quarantine import Quarantine
from openclaw_workers.store.questions import StandingApprovals
from openclaw_workers.store.scripts import FOLDER
from openclaw_workers.store.session_index import SessionIndex, Walk
from openclaw_workers.store.skill_commands import SkillCommands
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.workers import Workers
from tests.component.store import repeats_of_edges, repeats_of_trees, repeats_of_turns
from tests.component.store.conftest import MakeStore
from tests.component.store.harness import SESSION, StoreHarness

CASES = {**repeats_of_turns.CASES, **repeats_of_trees.CASES, **repeats_of_edges.CASES}

SINGLE_VALUES = r"suspects|threads|moves|places|outbox:owners|s:.*:(asking|waiters)|browser:.*|login:.*|place_owner:.*"
NUMBERS = r"sweep|lane:.*:ticket|memory|archive_places|places:where|limit:.*|budget:.*:(sums|spent)|drained|token_uses"
PARTS = r"run:.*:texts|outbox:(parts|file|route):.*|upload:.*|memory_vectors:.*|config(:versions)?"
OF_OTHERS = r"celery:.*|channel:.*:received"
PLAIN = re.compile(rf"({SINGLE_VALUES}|{NUMBERS}|{PARTS}|{OF_OTHERS})")
"""What is no record: one id or text by name, counters and times, parts of a record that carries the form, and what
Celery and the channels write. The document in `config` carries its form as `schema`."""


def test_scripts_and_python_agree() -> None:
    assert f"local SCHEMA = {SCHEMA}\n" in FOLDER.joinpath("lib/schema.lua").read_text()


@pytest.mark.parametrize(("script", "act"), [(name, act) for name, acts in CASES.items() for act in acts])
def test_what_a_script_stores_carries_its_form(
    make_store: MakeStore, script: str, act: Callable[[StoreHarness], object]
) -> None:
    store = make_store(cap=1)
    act(store)
    assert sorted(set(without_form(store))) == [], script


def without_form(store: StoreHarness) -> Iterator[str]:
    """Names of what was stored without a form: records, and values of hashes, lists and streams that are records."""
    prefix = f"{store.keys.namespace}:"
    for key in store.redis.scan_iter(f"{prefix}*"):
        name = str(key).removeprefix(prefix)
        kind = str(store.redis.type(key))
        if PLAIN.fullmatch(name) or (kind == "hash" and store.redis.hget(key, "v") == str(SCHEMA)):
            continue
        for field, value in values(store, str(key), kind):
            if not carries(value):
                yield f"{name} ({kind}) {field}: {value}"


def values(store: StoreHarness, key: str, kind: str) -> Iterator[tuple[str, Any]]:
    redis: Any = store.redis
    if kind == "hash":
        yield from redis.hgetall(key).items()
    elif kind == "list":
        yield from (("", value) for value in redis.lrange(key, 0, -1))
    elif kind == "stream":
        yield from (("", fields) for _, fields in redis.xrange(key))
    elif kind == "string":
        yield "", redis.get(key)
    elif kind in ("zset", "set"):
        members = redis.zrange(key, 0, -1) if kind == "zset" else redis.smembers(key)
        yield from (("", member) for member in members if member.startswith("{"))


def carries(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("v") == str(SCHEMA) or any(carries(each) for each in value.values())
    try:
        record = json.loads(value)
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("v") == SCHEMA


def test_what_is_stored_without_a_script_carries_its_form(store: StoreHarness) -> None:
    redis, keys = store.redis, store.keys
    account = ChannelAccount("telegram", "default")
    question = Question(id="q", kind=QuestionKind.APPROVAL, session=SESSION, run=RunId("r"), text="may I?")
    walk, command = Walk(begun_at=1), SkillCommand(name="tea", skill="tea", description="makes tea")
    Tokens(redis, keys).create(Scope.ADMIN)
    StandingApprovals(redis, keys).allow_always("main", ["ls *"], "ada")
    StandingApprovals(redis, keys).allow_for(question, 60_000, "ada")
    Channels(redis, keys).note(account, name="bot")
    Channels(redis, keys).block(account, "7", {"why": "blocked"})
    Channels(redis, keys).note_progress(account, SESSION, Route(channel="telegram", to="7"), "5")
    Channels(redis, keys).count_attempt(Route(channel="telegram", to="7", thread_id="new"))
    SessionIndex(redis, keys).keep(walk)
    MemoryNotes(redis, keys).register(MemoryNote("id", SESSION, "main", "here", 1))
    PlaceRequests(redis, keys).ask("here", "read", {})
    PlaceRequests(redis, keys).reply("request", {})
    Quarantine(redis, keys).keep("here", "damaged", "{")
    SkillCommands(redis, keys).publish("main", [command])
    Workers(redis, keys, lease_ms=1000).send_report(WorkerId("w"), {"plugins": "[]"})

    assert sorted(without_form(store)) == []
    assert SessionIndex(redis, keys).walk() == walk
    assert SkillCommands(redis, keys).of_agent("main") == (command,)
    assert Workers(redis, keys, lease_ms=1000).reports([WorkerId("w")]) == [{"plugins": "[]"}]
    assert Channels(redis, keys).facts(account) == {"name": "bot"}
