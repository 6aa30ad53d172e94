"""Calls of the scripts of limits, chats, jobs, memory and the fleet, each to be repeated."""

from __future__ import annotations

from collections.abc import Callable

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.schedule import Every
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.errors import FailureReason
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.channels import ChannelAccount, Channels, WantedThread
from openclaw_workers.store.configs import NO_VERSION, ConfigDocument, Configs
from openclaw_workers.store.group_context import ContextMessage, GroupContext
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, Limit, RateLimits
from openclaw_workers.store.memory_vectors import MemoryVectors
from openclaw_workers.store.moves import Move, Moves
from openclaw_workers.store.outbox_records import Account, Claim, PartOutcome
from openclaw_workers.store.pairing import Pairings
from openclaw_workers.store.place_requests import PlaceRequests
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.uploads import Uploads
from tests.component.store.harness import SESSION, StoreHarness
from tests.component.store.repeats_of_turns import CHAT, vain

BOT = Account("telegram", "bot")


ADA = Subject("telegram", person_id="7")


def cooldown(store: StoreHarness) -> None:
    Cooldowns(store.redis, store.keys).failed("p/main", "call-1", FailureReason.RATE_LIMIT)


def cooldown_asked_for(store: StoreHarness) -> None:
    cooldown(store)
    Cooldowns(store.redis, store.keys).failed("p/main", "call-2", FailureReason.RATE_LIMIT, 600_000)


def cooldown_ended(store: StoreHarness) -> None:
    cooldown(store)
    Cooldowns(store.redis, store.keys).succeeded("p/main", "call-2", took_ms=0)


def limit(store: StoreHarness) -> None:
    limits, one = RateLimits(store.redis, store.keys), Limit("p", concurrent=1)
    limits.ask([one], RunId("run-a"), "call-1", 5)
    limits.ask([one], RunId("run-b"), "call-2", 5)


def reserve(store: StoreHarness) -> None:
    RateLimits(store.redis, store.keys).reserve(RunId("run-a"), "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])


def renew_reservation(store: StoreHarness) -> None:
    limit(store)
    reserve(store)
    held = [Limit("p", concurrent=1)], [Budget("day", tokens=9)]
    RateLimits(store.redis, store.keys).renew_reservation(RunId("run-a"), "call-1", *held, 2.0)


def record_calls(store: StoreHarness) -> None:
    store.say("one")
    lease = store.take().lease
    run = lease.run
    limits = RateLimits(store.redis, store.keys)
    limits.reserve(run, "call-1", Amounts(tokens=5), [Budget("day", tokens=9)])
    call = ModelCall(
        id="call-1",
        at=store.now(),
        run=run,
        session=SESSION,
        agent="main",
        tree=SESSION,
        provider="p",
        model="m",
        usage=Usage(input=3, output=2),
        cost=0.5,
    )
    store.turns().record_calls(lease, LedgerEntries([call], ["day"], vain("call-1").attempts))


def login(store: StoreHarness) -> None:
    tokens = Tokens(store.redis, store.keys)
    token, _ = tokens.create(Scope.CHAT)
    logins = BrowserLogins(store.redis, store.keys, tokens)
    assert logins.redeem(logins.login_code(token.id))


def ingress_beat(store: StoreHarness) -> None:
    Ingresses(store.redis, store.keys).beat("host/1/a", {"url": "http://127.0.0.1:1"})


def _pairings(store: StoreHarness) -> Pairings:
    return Pairings(store.redis, store.keys)


def pairing_request(store: StoreHarness) -> None:
    _pairings(store).request(ADA, name="Ada", message_id="m1")


def pairing_approve(store: StoreHarness) -> None:
    pairing_refuse(store)
    _pairings(store).approve(ADA, code="", name="Ada", has_owner=False, may_share=False, has_other=False)


def pairing_refuse(store: StoreHarness) -> None:
    _pairings(store).refuse(ADA, name="Ada", reason="not-allowed", message_id="m1")


def keep_context(store: StoreHarness) -> None:
    message = ContextMessage(message_id="m1", sender_id="7", sender_name="Ada", sent_at=1, text="hi")
    GroupContext(store.redis, store.keys).keep(SESSION, message, 5)


def put(store: StoreHarness) -> None:
    for each in ("a", "b"):
        store.outbox.put(OutgoingMessage(id=each, kind=OutgoingKind.REPLY, route=CHAT, text=each))


def claimed(store: StoreHarness) -> Claim:
    put(store)
    (claim,) = store.outbox.claim([BOT], lease_ms=5_000, most=1).claims
    return claim


def outbox_sort(store: StoreHarness) -> None:
    put(store)
    store.outbox.sort()


def outbox_sending(store: StoreHarness) -> None:
    store.outbox.sending(claimed(store), 0, ["{}", "{}"], lease_ms=5_000)


def outbox_record(outcome: PartOutcome) -> Callable[[StoreHarness], None]:
    def record(store: StoreHarness) -> None:
        claim = claimed(store)
        store.outbox.sending(claim, 0, ["{}"], lease_ms=5_000)
        store.outbox.record(claim, 0, outcome, lease_ms=5_000, delay_ms=1000)

    return record


def outbox_renew(store: StoreHarness) -> None:
    store.outbox.renew([claimed(store)], lease_ms=5_000)


def outbox_release(store: StoreHarness) -> None:
    store.outbox.release([claimed(store)])


def outbox_retry(store: StoreHarness) -> None:
    outbox_record(PartOutcome.UNKNOWN)(store)
    store.outbox.retry("a")


def outbox_drop(store: StoreHarness) -> None:
    put(store)
    store.outbox.drop("a")


def store_chunk(store: StoreHarness) -> None:
    store.outbox.files.store("a", "text/plain", b"a")


def store_upload(store: StoreHarness) -> None:
    Uploads(store.redis, store.keys).store(b"a", "upload")


def lease_taken(store: StoreHarness) -> None:
    PlaceRequests(store.redis, store.keys).lease("place", "token", 60_000)


def lease_given_up(store: StoreHarness) -> None:
    lease_taken(store)
    PlaceRequests(store.redis, store.keys).lease("place", "token", 0)


def memory_vectors(store: StoreHarness) -> None:
    MemoryVectors(store.redis, store.keys, max_entries=1).put("model", {"a": [1.0], "b": [2.0]})


JOB = Job(id="tea", schedule=Every(every=60_000, anchor=0), session_target="main", message="tea")


def _schedules(store: StoreHarness) -> Schedules:
    return Schedules(store.redis, store.keys, log_entries=5)


def job_put(store: StoreHarness) -> None:
    _schedules(store).declare(JOB, 60_000)


def job_pause(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).pause("tea", "by hand")


def job_remove(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).remove("tea")


def job_skip(store: StoreHarness) -> None:
    job_put(store)
    _schedules(store).skip("tea", 60_000, 120_000, state="missed", reason="late")


def job_settle(store: StoreHarness) -> None:
    job_put(store)
    store.redis.hset(store.keys.job_firings("tea"), "60000", '{"session": "s", "message": "m", "at": 1}')
    _schedules(store).settle("tea", 60_000, state="error", reason="x", is_transient=True)


BOT_ACCOUNT = ChannelAccount("telegram", "default")


WANTED = WantedThread(SESSION, Route(channel="telegram", account_id="default", to="-100", thread_id="sub-1234"))


def channel_claim(store: StoreHarness) -> None:
    Channels(store.redis, store.keys).claim(BOT_ACCOUNT, "a", "host/1", lease_ms=5_000)


def channel_receive(store: StoreHarness) -> None:
    channel_claim(store)
    Channels(store.redis, store.keys).receive(BOT_ACCOUNT, {7: "{}"}, token="a", offset=8)


def channel_refuse(store: StoreHarness) -> None:
    channel_receive(store)
    Channels(store.redis, store.keys).refuse(BOT_ACCOUNT, [7], {"reason": "no"})


def bind_topic(store: StoreHarness) -> None:
    store.say("one")
    store.redis.hset(store.keys.threads, WANTED.route.address(), SESSION)
    created = WANTED.route.model_copy(update={"thread_id": "77"})
    Channels(store.redis, store.keys).bind_thread(WANTED, created)


def config_publish(store: StoreHarness) -> None:
    document = ConfigDocument(1, {"engine": {"maxSteps": 7}}, "written", {}, at=1, by="me@here", code="1")
    Configs(store.redis, store.keys).publish(document, "digest", expected=NO_VERSION)


def move_begin(store: StoreHarness) -> Move:
    store.redis.hset(store.keys.places, "main", "a" * 32)
    return Moves(store.redis, store.keys).begin("main", "two", "b" * 32, with_files=True, move_id="m1")


def move_end(store: StoreHarness) -> None:
    moves, move = Moves(store.redis, store.keys), move_begin(store)
    store.redis.sadd(store.keys.place_waits("moving m1"), SESSION)
    moves.end(move, "done")


CASES: dict[str, list[Callable[[StoreHarness], object]]] = {
    "cooldown": [cooldown, cooldown_asked_for, cooldown_ended],
    "limit": [limit],
    "reserve": [reserve],
    "renew_reservation": [renew_reservation],
    "record_calls": [record_calls],
    "outbox_claim": [claimed],
    "outbox_sort": [outbox_sort],
    "outbox_sending": [outbox_sending],
    "outbox_record": [outbox_record(outcome) for outcome in PartOutcome],
    "outbox_renew": [outbox_renew, outbox_release],
    "outbox_decide": [outbox_retry, outbox_drop],
    "store_chunk": [store_chunk, store_upload],
    "pairing_request": [pairing_request],
    "pairing_approve": [pairing_approve],
    "pairing_refuse": [pairing_refuse],
    "keep_context": [keep_context],
    "channel_claim": [channel_claim],
    "channel_receive": [channel_receive],
    "channel_refuse": [channel_refuse],
    "bind_topic": [bind_topic],
    "login": [login],
    "lease": [lease_taken, lease_given_up],
    "memory_vectors": [memory_vectors],
    "job_put": [job_put],
    "job_pause": [job_pause],
    "job_remove": [job_remove],
    "job_skip": [job_skip],
    "job_settle": [job_settle],
    "ingress_beat": [ingress_beat],
    "config_publish": [config_publish],
    "move_begin": [move_begin],
    "move_end": [move_end],
}
