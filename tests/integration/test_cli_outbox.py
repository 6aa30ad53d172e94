"""`ocw outbox`: list, show, retry and drop messages to chats."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.store.outbox_records import Account, PartOutcome
from tests.support.fleet import Fleet
from tests.support.ocw import Ocw

BOT = Account("telegram", "bot")


@pytest.fixture
def two_messages(live_fleet: Fleet) -> list[str]:
    """A message that failed after its first part, and one that waits."""
    store = live_fleet.stores.outbox
    live_fleet.stores.redis.delete(*live_fleet.stores.redis.keys("*outbox*") or ["nothing"])
    route = Route(channel="telegram", account_id="bot", to="42")
    for name in ("first", "second"):
        store.put(OutgoingMessage(id=name, kind=OutgoingKind.REPLY, route=route, text=f"the {name}\nmessage"))
    (claim,) = store.claim([BOT], lease_ms=5000, most=1).claims
    parts = ['{"payload": {"text": "one"}}', '{"payload": {"text": "two"}}']
    store.sending(claim, 0, parts, lease_ms=5000)
    following = store.record(claim, 0, PartOutcome.SENT, message_id="77", lease_ms=5000)
    assert following is not None
    store.sending(following, 1, [], lease_ms=5000)
    store.record(following, 1, PartOutcome.FAILED, error="the bot was blocked", lease_ms=5000, goes_on=False)
    return ["first", "second"]


def test_what_waits_and_what_failed_is_listed(two_messages: list[str], ocw_cli: Ocw) -> None:
    listed = ocw_cli("outbox", "list", "--json").json
    assert {each["id"]: each["state"] for each in listed["messages"]} == {"first": "failed", "second": "queued"}
    assert [(each["accountId"], each["alive"]) for each in listed["senders"]] == [("bot", True)]
    text = ocw_cli("outbox", "list").out
    assert "the bot was blocked" in text
    assert "telegram/bot/42" in text
    only = ocw_cli("outbox", "list", "--state", "queued", "--json").json
    assert [each["id"] for each in only["messages"]] == ["second"]


def test_a_message_is_shown_with_its_parts(two_messages: list[str], ocw_cli: Ocw) -> None:
    shown = ocw_cli("outbox", "show", "first", "--json").json
    assert (shown["text"], shown["parts"], shown["partsSent"]) == ("the first\nmessage", 2, 1)
    assert [(part["state"], part["messageId"]) for part in shown["partList"]] == [("sent", "77"), (None, None)]
    text = ocw_cli("outbox", "show", "first").out
    assert "part 1   sent, message 77" in text
    assert "part 2   not sent" in text
    assert ocw_cli("outbox", "show", "fir", "--json").json["id"] == "first"
    newest = max(each["createdAt"] for each in ocw_cli("outbox", "list", "--json").json["messages"])
    assert ocw_cli("outbox", "show", "last", "--json").json["createdAt"] == newest
    assert ocw_cli("outbox", "show", "nothing").code == 5


def test_a_person_decides_what_becomes_of_a_message(two_messages: list[str], ocw_cli: Ocw) -> None:
    assert ocw_cli("outbox", "retry", "first").out == "first is sent again\n"
    assert ocw_cli("outbox", "drop", "second", "--json").json["state"] == "dropped"
    refused = ocw_cli("outbox", "retry", "second")
    assert (refused.code, "was dropped already" in refused.err) == (2, True)
    states = {each["id"]: each["state"] for each in ocw_cli("outbox", "list", "--all", "--json").json["messages"]}
    assert states == {"first": "queued", "second": "dropped"}


def test_a_channel_that_nobody_serves_is_named(two_messages: list[str], live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.stores.redis.delete(live_fleet.stores.keys.outbox_senders)
    assert "nobody sends for telegram account bot" in ocw_cli("outbox", "list").err
    totals = ocw_cli("status", "--json").json["totals"]
    assert (totals["outboxQueued"], totals["outboxUnsent"]) == (1, 1)
    assert "1 message(s) to chats unknown or failed" in ocw_cli("status").out
