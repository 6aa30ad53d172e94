"""Workers fetch several wake-ups at a time when many slots are free, and skip damaged messages."""

from __future__ import annotations

import pytest

from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.programs import program, say
from tests.support.waiting import eventually

SLOW_TURN = program(say("done", delay_ms=3000))
NO_MESSAGES = ['{"body": ', "no JSON", "[]", "{}", '{"properties": {}}', '{"properties": []}', "\ud7ff\x00"]
NO_MESSAGES += ["[" * 100_000, '{"properties": {"__type__": "decimal", "__value__": "x"}}']
NO_TASKS = [
    '{"properties": {"delivery_tag": []}}',
    '{"properties": {"delivery_tag": "%d"}, "headers": {"task": []}}',
    '{"properties": {"delivery_tag": "%d"}, "headers": {"task": "openclaw.turn"}}',
    '{"properties": {"delivery_tag": "%d"}, "headers": {"task": "openclaw.turn", "id": "x", "expires": {}}}',
    '{"properties": {"delivery_tag": "%d"}, "headers": {"task": "unknown", "id": ""}}',
    '{"properties": {"delivery_tag": "%d", "body_encoding": "base64"}, "body": "x"}',
]
DAMAGED = [*NO_MESSAGES, *(each.replace("%d", str(number)) for number in range(4) for each in NO_TASKS)]


def commands(fleet: Fleet, name: str) -> int:
    return int(fleet.stores.redis.info("commandstats").get(f"cmdstat_{name}", {"calls": 0})["calls"])


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_with_many_free_slots_takes_several_wake_ups_at_once(fleet: Fleet, pool: str) -> None:
    slots = 64 if pool == "threads" else 16
    sent = [fleet.send(SLOW_TURN, f"s{n}") for n in range(slots)]
    before = commands(fleet, "brpop")

    fleet.worker(concurrency=slots, pool=pool, wait=False)
    eventually(lambda: len(fleet.stores.reader.running()) == slots, within=60)

    assert commands(fleet, "brpop") - before < slots * 3 // 4
    check(fleet.stores, sent, one_each=True)


def test_a_worker_with_few_slots_leaves_the_next_wake_up_to_others(fleet: Fleet) -> None:
    sent = [fleet.send(SLOW_TURN, f"s{n}") for n in range(7)]

    fleet.worker(concurrency=7, wait=False)
    eventually(lambda: len(fleet.stores.reader.running()) == 7, within=60)

    assert commands(fleet, "rpop") == 0
    check(fleet.stores, sent, one_each=True)


def test_a_worker_never_takes_more_wake_ups_than_it_has_slots(fleet: Fleet) -> None:
    sent = [fleet.send(SLOW_TURN, f"s{n}") for n in range(60)]

    fleet.worker(concurrency=40, wait=False)
    eventually(lambda: len(fleet.stores.reader.running()) == 40, within=60)

    assert fleet.stores.redis.llen(fleet.queue_key) == 20
    check(fleet.stores, sent, one_each=True)


@pytest.mark.parametrize("concurrency", [4, 32])
def test_a_damaged_message_in_the_queue_ends_no_worker_and_no_turn(fleet: Fleet, concurrency: int) -> None:
    sent = [fleet.send(SLOW_TURN, "before")]
    for number, damaged in enumerate(DAMAGED):
        fleet.stores.redis.lpush(fleet.queue_key, damaged)
        sent.append(fleet.send(program(say("after")), f"s{number}"))

    worker = fleet.worker(concurrency=concurrency)

    assert [outcome.text for outcome in fleet.outcomes(sent)] == ["done"] + ["after"] * len(DAMAGED)
    assert worker.log_text().count("wake.unreadable") == len(DAMAGED)
    assert worker.is_running()
    check(fleet.stores, sent, one_each=True)
    assert all(len(run.attempts) == 1 for run in fleet.runs())


def test_the_sweep_replaces_a_damaged_wake_up(fleet: Fleet) -> None:
    sent = fleet.send(program(say("found")), lose_wake_up=True)
    fleet.stores.redis.lpush(fleet.queue_key, "a damaged wake-up")

    fleet.worker(concurrency=32)

    assert fleet.outcome(sent).text == "found"
