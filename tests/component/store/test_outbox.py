"""The outbox: every change of state, order per route, leases of senders, and what people decide."""

from __future__ import annotations

import json

import pytest
import redis as redis_py

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingFile, OutgoingKind, OutgoingMessage, OutgoingState
from openclaw_workers.errors import BadInput, NotFound, StoreFull
from openclaw_workers.store.file_chunks import CHUNK_BYTES
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.outbox_records import Account, Claim, PartOutcome

LEASE_MS = 5_000
BOT = Account("telegram", "bot")
DEDUPING = Account("telegram", "bot", dedupes=True)
PARTS = ['{"text":"one"}', '{"text":"two"}']


def chat(to: str = "42", thread: str = "") -> Route:
    return Route(channel="telegram", account_id="bot", to=to, thread_id=thread)


class OutboxHarness:
    """An outbox with short ways to put, claim and send."""

    def __init__(self, client: redis_py.Redis, keys: Keys) -> None:
        self.redis = client
        self.keys = keys
        self.store = Outbox(client, keys)

    def put(self, *ids: str, to: str = "42", files: tuple[OutgoingFile, ...] = ()) -> None:
        for each in ids:
            message = OutgoingMessage(
                id=each, kind=OutgoingKind.REPLY, route=chat(to), text=f"text {each}", files=files
            )
            self.store.put(message)

    def claims(self, account: Account = BOT, *, most: int = 10) -> list[Claim]:
        return list(self.store.claim([account], lease_ms=LEASE_MS, most=most).claims)

    def claim(self, account: Account = BOT) -> Claim:
        (claim,) = self.claims(account)
        return claim

    def sending(self, claim: Claim, part: int = 0, parts: list[str] | None = None) -> bool:
        return self.store.sending(claim, part, PARTS[:1] if parts is None else parts, lease_ms=LEASE_MS)

    def record(
        self, claim: Claim, outcome: PartOutcome = PartOutcome.SENT, part: int = 0, **how: object
    ) -> Claim | None:
        return self.store.record(claim, part, outcome, lease_ms=LEASE_MS, **how)  # type: ignore[arg-type]

    def send(self, claim: Claim) -> Claim | None:
        assert self.sending(claim)
        return self.record(claim, message_id="m-1")

    def expire_lease(self, address: str | None = None) -> None:
        """As if the sender had been silent for longer than its lease."""
        self.redis.zadd(self.keys.outbox_ready(BOT.name), {address or chat().address(): 1})

    def state(self, entry_id: str) -> str:
        return self.store.get(entry_id)[0].state.value

    def waiting(self, to: str = "42") -> list[str]:
        return [str(each) for each in self.redis.lrange(self.keys.outbox_route(chat(to).address()), 0, -1)]


@pytest.fixture
def outbox(redis: redis_py.Redis, namespace: str) -> OutboxHarness:
    return OutboxHarness(redis, Keys(namespace))


def test_a_message_goes_from_queued_over_sending_to_sent(outbox: OutboxHarness) -> None:
    outbox.put("a")
    assert outbox.state("a") == "queued"

    claim = outbox.claim()
    assert claim.entry.message.text == "text a"
    assert outbox.sending(claim)
    assert outbox.state("a") == "sending"

    assert outbox.record(claim, message_id="77") is None
    entry, parts = outbox.store.get("a")
    assert entry.state is OutgoingState.SENT
    assert [(part.state, part.message_id) for part in entry.parts] == [(OutgoingState.SENT, "77")]
    assert parts == [{"text": "one"}]
    assert outbox.waiting() == []


def test_a_message_with_a_known_id_is_dropped(outbox: OutboxHarness) -> None:
    outbox.put("a", "a")
    outbox.send(outbox.claim())
    outbox.put("a")
    assert outbox.claims() == []


def test_messages_of_a_route_are_sent_in_order_by_one_sender(outbox: OutboxHarness) -> None:
    outbox.put("a", "b", "c")
    claim = outbox.claim()
    assert outbox.claims() == [], "the route has a sender"

    sent = [claim.entry.id]
    following = outbox.send(claim)
    while following is not None:
        sent.append(following.entry.id)
        following = outbox.send(following)
    assert sent == ["a", "b", "c"]


def test_routes_are_claimed_apart(outbox: OutboxHarness) -> None:
    outbox.put("a", to="1")
    outbox.put("b", to="2")
    assert [claim.entry.id for claim in outbox.claims(most=1)] == ["a"]
    assert [claim.entry.id for claim in outbox.claims()] == ["b"]


def test_an_account_gets_only_its_own_routes(outbox: OutboxHarness) -> None:
    outbox.put("a")
    assert outbox.claims(Account("telegram", "other")) == []
    assert outbox.claims(Account("slack", "bot")) == []
    assert outbox.claim().entry.id == "a"


def test_parts_are_sent_one_by_one_and_kept_as_they_were_rendered(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    assert outbox.sending(claim, 0, PARTS)
    following = outbox.record(claim)
    assert following is not None
    assert following.entry.next_part == 1
    assert following.parts == tuple(PARTS)
    assert outbox.sending(following, 1, ['{"text":"rendered again"}'])
    assert outbox.record(following, part=1) is None
    entry, parts = outbox.store.get("a")
    assert entry.state is OutgoingState.SENT
    assert parts == [json.loads(part) for part in PARTS]


def test_a_takeover_makes_the_part_unknown_and_goes_on(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    lost = outbox.claim()
    outbox.sending(lost)
    outbox.expire_lease()

    claim = outbox.claim()
    assert claim.entry.id == "b", "the unknown one does not hold up the chat"
    assert outbox.state("a") == "unknown"
    assert not outbox.sending(lost), "the old sender must not send"
    assert outbox.send(claim) is None
    assert outbox.state("b") == "sent"


def test_a_takeover_sends_the_other_parts_of_the_message(outbox: OutboxHarness) -> None:
    outbox.put("a")
    outbox.sending(outbox.claim(), 0, PARTS)
    outbox.expire_lease()

    claim = outbox.claim()
    assert claim.entry.next_part == 1
    assert outbox.sending(claim, 1)
    outbox.record(claim, part=1)
    entry, _ = outbox.store.get("a")
    assert entry.state is OutgoingState.UNKNOWN
    assert [part.state for part in entry.parts] == [OutgoingState.UNKNOWN, OutgoingState.SENT]


def test_a_takeover_between_two_parts_loses_nothing(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.sending(claim, 0, PARTS)
    outbox.record(claim)
    outbox.expire_lease()

    claim = outbox.claim()
    assert (claim.entry.id, claim.entry.next_part, claim.parts) == ("a", 1, tuple(PARTS))


def test_a_takeover_before_sending_sends_it(outbox: OutboxHarness) -> None:
    outbox.put("a")
    outbox.claim()
    outbox.expire_lease()
    assert outbox.claim().entry.id == "a"


def test_a_takeover_on_a_channel_that_dedupes_sends_again(outbox: OutboxHarness) -> None:
    outbox.put("a")
    outbox.sending(outbox.claim(DEDUPING))
    outbox.expire_lease()
    claim = outbox.claim(DEDUPING)
    assert (claim.entry.id, claim.entry.next_part) == ("a", 0)
    outbox.send(claim)
    assert outbox.state("a") == "sent"


def test_a_sender_that_was_only_paused_says_that_the_part_was_sent(outbox: OutboxHarness) -> None:
    outbox.put("a")
    paused = outbox.claim()
    outbox.sending(paused)
    outbox.expire_lease()
    assert outbox.claims() == []
    assert outbox.state("a") == "unknown"

    assert outbox.record(paused, message_id="77") is None
    assert outbox.state("a") == "sent"
    assert [each.id for each in outbox.store.entries()] == []


def test_a_late_word_of_a_sender_does_not_touch_a_message_that_is_sent_again(outbox: OutboxHarness) -> None:
    outbox.put("a")
    paused = outbox.claim()
    outbox.sending(paused)
    outbox.expire_lease()
    outbox.claims()
    outbox.store.retry("a")
    outbox.sending(outbox.claim())

    outbox.record(paused, message_id="77")
    assert outbox.state("a") == "sending"


def test_an_uncertain_outcome_is_unknown_and_kept(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    claim = outbox.claim()
    outbox.sending(claim)
    following = outbox.record(claim, PartOutcome.UNKNOWN, error="cut off")
    assert following is not None
    assert following.entry.id == "b"
    (kept,) = [each for each in outbox.store.entries() if each.id == "a"]
    assert (kept.state, kept.error) == (OutgoingState.UNKNOWN, "cut off")


def test_a_refused_message_fails_and_the_next_goes_on(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    claim = outbox.claim()
    outbox.sending(claim)
    following = outbox.record(claim, PartOutcome.FAILED, error="the bot is blocked")
    assert following is not None
    assert following.entry.id == "b"
    assert outbox.state("a") == "failed"


@pytest.mark.parametrize(("outcome", "attempts"), [(PartOutcome.LATER, 0), (PartOutcome.RETRY, 1)])
def test_a_pause_keeps_the_order(outbox: OutboxHarness, outcome: PartOutcome, attempts: int) -> None:
    outbox.put("a", "b")
    claim = outbox.claim()
    outbox.sending(claim)
    assert outbox.record(claim, outcome, error="busy", delay_ms=60_000) is None
    claimed = outbox.store.claim([BOT], lease_ms=LEASE_MS, most=10)
    assert claimed.claims == ()
    assert 50_000 < claimed.wait_ms <= 60_000

    outbox.expire_lease()
    claim = outbox.claim()
    assert (claim.entry.id, claim.entry.attempts, claim.entry.error) == ("a", attempts, "busy")


def test_a_message_that_renders_to_nothing_is_done(outbox: OutboxHarness) -> None:
    outbox.put("a")
    assert outbox.record(outbox.claim(), PartOutcome.EMPTY) is None
    assert outbox.state("a") == "sent"


def test_renewing_holds_a_route_and_releasing_gives_it_away(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.expire_lease()
    outbox.store.renew([claim], lease_ms=LEASE_MS)
    assert outbox.claims() == []

    outbox.store.release([claim])
    other = outbox.claim()
    outbox.store.release([claim])
    assert outbox.sending(other), "who lost a route cannot give it away"


def test_a_sender_that_leaves_gives_the_route_to_the_next(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    claim = outbox.claim()
    outbox.sending(claim)
    assert outbox.record(claim, goes_on=False) is None
    assert outbox.claim().entry.id == "b"


def test_a_time_from_before_the_clock_stepped_back_is_mended(outbox: OutboxHarness) -> None:
    outbox.put("a")
    outbox.claim()
    ready = outbox.keys.outbox_ready(BOT.name)
    outbox.redis.zadd(ready, {chat().address(): 9e12})
    assert outbox.claim().entry.id == "a"


@pytest.mark.parametrize("outcome", [PartOutcome.UNKNOWN, PartOutcome.FAILED])
def test_a_person_sends_again_what_is_not_certain(outbox: OutboxHarness, outcome: PartOutcome) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.sending(claim, 0, PARTS)
    following = outbox.record(claim)
    assert following is not None
    outbox.sending(following, 1)
    outbox.record(following, outcome, part=1, error="gone")

    outbox.store.retry("a")
    claim = outbox.claim()
    assert (claim.entry.state, claim.entry.next_part) == (OutgoingState.QUEUED, 1), "the first part was sent"
    outbox.sending(claim, 1)
    outbox.record(claim, part=1)
    assert outbox.state("a") == "sent"


def test_a_person_ends_a_pause(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.sending(claim)
    outbox.record(claim, PartOutcome.RETRY, delay_ms=60_000)
    outbox.store.retry("a")
    assert outbox.claim().entry.id == "a"


def test_a_person_drops_what_waits(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    outbox.store.drop("a")
    assert outbox.state("a") == "dropped"
    assert [each.id for each in outbox.store.entries()] == ["b"]
    assert {each.id for each in outbox.store.entries(with_sent=True)} == {"a", "b"}
    assert outbox.claim().entry.id == "b"


def test_what_is_being_sent_or_over_is_left_alone(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.sending(claim)
    with pytest.raises(BadInput, match="being sent"):
        outbox.store.drop("a")
    outbox.record(claim)
    with pytest.raises(BadInput, match="sent already"):
        outbox.store.retry("a")
    with pytest.raises(NotFound):
        outbox.store.retry("z")


def test_a_message_dropped_under_its_sender_is_not_sent(outbox: OutboxHarness) -> None:
    outbox.put("a")
    claim = outbox.claim()
    outbox.store.drop("a")
    assert not outbox.sending(claim)


def test_sent_messages_expire_after_a_day_and_others_after_a_month(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    following = outbox.send(outbox.claim())
    assert following is not None
    outbox.sending(following)
    outbox.record(following, PartOutcome.FAILED, error="no")
    left = {each: outbox.redis.ttl(outbox.keys.outbox_entry(each)) for each in "ab"}
    assert 86_000 < int(left["a"]) <= 86_400
    assert int(left["b"]) > 29 * 86_400
    outbox.store.retry("b")
    assert outbox.redis.ttl(outbox.keys.outbox_entry("b")) == -1


def test_an_unreadable_message_fails_visibly_and_holds_nobody_up(outbox: OutboxHarness) -> None:
    now, _ = outbox.redis.time()
    outbox.redis.xadd(outbox.keys.outgoing, {"at": f"{now}000", "message": "{nonsense"})
    outbox.put("a", "b")
    outbox.store.sort()
    outbox.redis.hset(outbox.keys.outbox_entry("a"), "message", "{}")

    assert outbox.claim().entry.id == "b"
    shown = {each.id: each for each in outbox.store.entries()}
    assert shown["a"].state is OutgoingState.FAILED
    assert [each.state for each in shown.values() if each.id.startswith("unreadable-")] == [OutgoingState.FAILED]


def test_a_file_is_stored_in_chunks_and_goes_when_it_was_sent(outbox: OutboxHarness) -> None:
    content = bytes(range(256)) * (8 * 4096)
    file = outbox.store.files.store("a.bin", "application/x", content)
    key = outbox.keys.outbox_file(file.id)
    assert file.size == len(content) == 8 << 20
    assert outbox.redis.llen(key) == len(content) // CHUNK_BYTES
    assert int(outbox.redis.ttl(key)) > 0

    outbox.put("a", files=(file,))
    claim = outbox.claim()
    assert outbox.redis.ttl(key) == -1
    assert outbox.store.files.load(claim.entry.message.files[0]) == content
    outbox.send(claim)
    with pytest.raises(NotFound):
        outbox.store.files.load(file)


def test_an_empty_file_and_one_that_is_too_large(outbox: OutboxHarness) -> None:
    file = outbox.store.files.store("a", "text/plain", b"")
    assert outbox.store.files.load(file) == b""
    with pytest.raises(BadInput, match="8,388,608"):
        outbox.store.files.store("b", "text/plain", b"x" * ((8 << 20) + 1))


def test_a_nearly_full_redis_takes_no_files_but_messages(outbox: OutboxHarness) -> None:
    file = outbox.store.files.store("a", "text/plain", b"x")
    outbox.redis.hset(outbox.keys.memory, mapping={"high": "1", "percent": "93"})
    with pytest.raises(StoreFull):
        outbox.store.files.store("b", "text/plain", b"x")
    with pytest.raises(StoreFull):
        outbox.put("a", files=(file,))
    outbox.put("b")
    assert outbox.claim().entry.id == "b"


def test_counts_include_what_nobody_has_sorted(outbox: OutboxHarness) -> None:
    outbox.put("a", "b")
    assert outbox.store.counts().queued == 2
    claim = outbox.claim()
    outbox.sending(claim)
    outbox.record(claim, PartOutcome.FAILED)
    outbox.put("c")
    counts = outbox.store.counts()
    assert (counts.queued, counts.kept) == (2, 1)
    assert list(outbox.store.senders()) == [BOT.name]


def test_many_new_messages_are_sorted_in_portions(outbox: OutboxHarness) -> None:
    outbox.put(*(f"m{index}" for index in range(450)))
    claimed = outbox.store.claim([BOT], lease_ms=LEASE_MS, most=10)
    assert claimed.more
    outbox.store.sort()
    assert outbox.waiting() == [f"m{index}" for index in range(450)]
