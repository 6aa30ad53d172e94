"""The sender: sends at once, in order, once; and records what became of each part."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque

import pytest

from ingress.channels.adapter import Capabilities, SendLater, SendRefused
from ingress.delivery import part_outcomes
from ingress.delivery.part_outcomes import RETRY_SECONDS, ended_by
from openclaw_workers.store.outbox_records import PartOutcome
from tests.component.ingress.conftest import Delivery
from tests.support.fake_adapter import FakeAdapter
from tests.support.waiting import eventually


def test_a_new_message_is_sent_at_once(delivery: Delivery) -> None:
    delivery.start()
    eventually(delivery.outbox.senders, within=5)
    began = time.monotonic()
    delivery.put("hello")
    eventually(lambda: delivery.adapter.texts == ["hello"], within=5, every=0.005)
    assert time.monotonic() - began < 1
    delivery.wait_for("hello", "sent")


def test_messages_and_parts_of_a_chat_keep_their_order(delivery: Delivery) -> None:
    expected = [f"{number}{part}" for number in range(30) for part in "ab"]
    for number in range(30):
        delivery.put(f"{number}a§{number}b")
    delivery.start()
    eventually(lambda: delivery.adapter.texts == expected, within=20)


def test_a_slow_chat_holds_up_nobody_else(delivery: Delivery) -> None:
    delivery.adapter.gates["slow"] = lambda: False
    delivery.put("slow", to="1")
    delivery.put("quick", to="2")
    delivery.start(stop_seconds=0.1)
    eventually(lambda: delivery.adapter.texts == ["quick"], within=5)
    assert delivery.state("slow") == "sending"


def test_more_routes_than_places_are_served_in_turn(delivery: Delivery) -> None:
    for number in range(20):
        delivery.put(f"m{number}", to=str(number))
    delivery.start(most_routes=2)
    eventually(lambda: len(delivery.adapter.arrived) == 20, within=10)


def test_later_is_honoured_and_keeps_the_order(delivery: Delivery) -> None:
    delivery.adapter.plans["one"] = deque([SendLater(0.5, "slow down"), SendLater(0.2, "slow down")])
    began = time.monotonic()
    delivery.put("one", "two")
    delivery.start()
    eventually(lambda: delivery.adapter.texts == ["one", "two"], within=5)
    assert time.monotonic() - began >= 0.7
    assert delivery.outbox.get("one")[0].attempts == 0


def test_a_temporary_refusal_is_tried_again(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_outcomes, "RETRY_SECONDS", (0.1, 0.1))
    delivery.adapter.plans["one"] = deque([SendRefused("no network", permanent=False)] * 2)
    delivery.put("one")
    delivery.start()
    delivery.wait_for("one", "sent")
    assert delivery.outbox.get("one")[0].attempts == 2


def test_after_the_last_attempt_it_fails_and_the_chat_goes_on(
    delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_outcomes, "RETRY_SECONDS", (0.05,))
    delivery.adapter.plans["one"] = deque([SendRefused("no network", permanent=False)] * 5)
    delivery.put("one", "two")
    delivery.start()
    delivery.wait_for("two", "sent")
    entry, _ = delivery.outbox.get("one")
    assert (entry.state, entry.error) == ("failed", "given up after 2 attempts: no network")


def test_a_permanent_refusal_fails_at_once(delivery: Delivery) -> None:
    delivery.adapter.plans["one"] = deque([SendRefused("the bot was blocked", permanent=True)])
    delivery.put("one", "two")
    delivery.start()
    delivery.wait_for("two", "sent")
    entry, _ = delivery.outbox.get("one")
    assert (entry.state, entry.error) == ("failed", "the bot was blocked")


def test_an_answer_that_got_lost_is_unknown_and_not_sent_again(delivery: Delivery) -> None:
    delivery.adapter.lost_answers["one"] = deque([ConnectionError("cut off")])
    delivery.put("one", "two")
    delivery.start()
    delivery.wait_for("two", "sent")
    assert delivery.state("one") == "unknown"
    assert delivery.adapter.texts == ["one", "two"]
    delivery.outbox.retry("one")
    delivery.wait_for("one", "sent")
    assert delivery.adapter.texts == ["one", "two", "one"]


def test_a_channel_that_dedupes_is_asked_again_with_the_same_key(
    delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_outcomes, "RETRY_SECONDS", (0.05,))
    adapter = FakeAdapter(capabilities=Capabilities(dedupes_sends=True))
    adapter.lost_answers["one"] = deque([ConnectionError("cut off")])
    delivery.put("one")
    delivery.start(adapter)
    delivery.wait_for("one", "sent")
    first, second = adapter.arrived
    assert first.key == second.key == "one/0"


def test_a_send_without_end_is_unknown(delivery: Delivery) -> None:
    delivery.adapter.gates["one"] = lambda: False
    delivery.put("one", "two")
    delivery.start(send_seconds=0.3)
    delivery.wait_for("two", "sent")
    entry, _ = delivery.outbox.get("one")
    assert (entry.state, entry.error) == ("unknown", "the channel did not answer in time")


def test_what_cannot_be_rendered_fails_and_what_renders_to_nothing_is_done(delivery: Delivery) -> None:
    delivery.put("unrenderable", "§", "two")
    delivery.start()
    delivery.wait_for("two", "sent")
    assert "ValueError" in delivery.outbox.get("unrenderable")[0].error
    assert (delivery.state("unrenderable"), delivery.state("§")) == ("failed", "sent")


def test_a_file_of_8_mb_arrives_as_it_was(delivery: Delivery) -> None:
    content = os.urandom(8 << 20)
    file = delivery.outbox.files.store("photo.bin", "application/x", content)
    delivery.put("look", files=(file,))
    delivery.start()
    delivery.wait_for("look", "sent", within=20)
    arrived = delivery.adapter.arrived[1]
    assert hashlib.sha256(arrived.content).digest() == hashlib.sha256(content).digest()


def test_a_file_that_is_gone_fails(delivery: Delivery) -> None:
    file = delivery.outbox.files.store("a", "text/plain", b"abc")
    delivery.put("look", files=(file,))
    delivery.outbox.sort()
    delivery.redis.delete(delivery.keys.outbox_file(file.id))
    delivery.start()
    delivery.wait_for("look", "failed")


def test_a_long_send_keeps_its_route(delivery: Delivery) -> None:
    done = time.monotonic() + 2.5
    delivery.adapter.gates["long"] = lambda: time.monotonic() > done
    delivery.put("long")
    for _ in range(2):
        delivery.start(lease_seconds=1.0)
    delivery.wait_for("long", "sent")
    assert delivery.adapter.texts == ["long"]


def test_two_senders_share_the_work_and_send_once(delivery: Delivery) -> None:
    for number in range(40):
        delivery.put(f"a{number}", to="1")
        delivery.put(f"b{number}", to="2")
    for _ in range(2):
        delivery.start()
    eventually(lambda: len(delivery.adapter.arrived) >= 80, within=20)
    assert [text for text in delivery.adapter.texts if text.startswith("a")] == [f"a{n}" for n in range(40)]
    assert [text for text in delivery.adapter.texts if text.startswith("b")] == [f"b{n}" for n in range(40)]


def test_a_sender_that_leaves_lets_its_send_end_and_gives_the_route_back(delivery: Delivery) -> None:
    done = time.monotonic() + 0.5
    delivery.adapter.gates["one"] = lambda: time.monotonic() > done
    delivery.put("one", "two")
    delivery.start()
    eventually(lambda: delivery.state("one") == "sending", within=5)
    delivery._stack.close()
    assert delivery.state("one") == "sent"
    assert delivery.state("two") == "queued"
    delivery.start()
    delivery.wait_for("two", "sent", within=2)


def test_each_adapter_sends_for_its_own_account(delivery: Delivery) -> None:
    other = FakeAdapter(account_id="other")
    delivery.put("one")
    delivery.put("two", account="other")
    delivery.start(delivery.adapter, other)
    delivery.wait_for("two", "sent")
    assert (delivery.adapter.texts, other.texts) == (["one"], ["two"])


def test_an_idle_sender_costs_two_commands_per_look(delivery: Delivery) -> None:
    delivery.start(lease_seconds=1.0)
    eventually(delivery.outbox.senders, within=5)

    def used() -> int:
        info = delivery.redis.info("commandstats")
        calls = (info.get(f"cmdstat_{name}", {}) for name in ("xread", "evalsha", "eval"))
        return sum(int(each.get("calls", 0)) for each in calls)

    before, began = used(), time.monotonic()
    time.sleep(1)
    looks = (time.monotonic() - began) / 0.5  # half a lease
    assert used() - before <= 2 * (looks + 2)


@pytest.mark.parametrize(
    ("error", "attempts", "dedupes", "outcome", "delay_ms"),
    [
        (SendLater(30, "429"), 0, False, PartOutcome.LATER, 30_000),
        (SendLater(-1, "429"), 0, False, PartOutcome.LATER, 50),
        (SendLater(10**9, "429"), 0, False, PartOutcome.LATER, 86_400_000),
        (SendRefused("blocked", permanent=True), 0, True, PartOutcome.FAILED, 0),
        (SendRefused("busy", permanent=False), 0, False, PartOutcome.RETRY, 1000),
        (SendRefused("busy", permanent=False), 3, False, PartOutcome.RETRY, 10_000),
        (SendRefused("busy", permanent=False), len(RETRY_SECONDS), False, PartOutcome.FAILED, 0),
        (TimeoutError(), 0, False, PartOutcome.UNKNOWN, 0),
        (ValueError("x"), 0, False, PartOutcome.UNKNOWN, 0),
        (ConnectionError(), 0, True, PartOutcome.RETRY, 1000),
    ],
)
def test_what_an_error_of_an_adapter_means(
    error: Exception, attempts: int, dedupes: bool, outcome: PartOutcome, delay_ms: int
) -> None:
    ended = ended_by(error, attempts, dedupes=dedupes)
    assert (ended.outcome, ended.delay_ms) == (outcome, delay_ms)
