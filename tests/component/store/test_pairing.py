"""Pairing in Redis: codes, approvals and refusals, also if many act at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis as redis_py

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.store import pairing
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pairing import Approved, PairingCode, Pairings, SecondPerson
from tests.support.redis_server import RedisServer

MANY = 12


def person(number: int, account: str = "default") -> Subject:
    return Subject("telegram", account, str(number))


@pytest.fixture
def pairings(redis: redis_py.Redis, namespace: str) -> Pairings:
    return Pairings(redis, Keys(namespace))


@pytest.fixture
def shared(redis_server: RedisServer, namespace: str) -> Callable[[], Pairings]:
    """Stores with connections of their own, as other processes have them."""
    return lambda: Pairings(connect(redis_server.url, timeout_seconds=5), Keys(namespace))


def ask(pairings: Pairings, subject: Subject, message: str = "m1") -> PairingCode | None:
    return pairings.request(subject, name="Ada", message_id=message)


def approve(
    pairings: Pairings,
    subject: Subject,
    code: str = "",
    *,
    has_owner: bool = False,
    may_share: bool = True,
    has_other: bool = False,
    same_person: tuple[str, ...] = (),
) -> Approved | SecondPerson | None:
    return pairings.approve(
        subject,
        code=code,
        name="Ada",
        has_owner=has_owner,
        may_share=may_share,
        has_other=has_other,
        same_person=same_person,
    )


def refuse(pairings: Pairings, number: int, message: str = "m1") -> None:
    pairings.refuse(person(number), name="Ada", reason="not-allowed", message_id=message)


def test_a_person_has_one_code_and_gets_it_once_in_a_while(pairings: Pairings, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(pairings, person(1))
    assert first is not None
    assert first.tell

    assert ask(pairings, person(1)) == first, "the channel delivered the message again"
    assert ask(pairings, person(1), "m2") == PairingCode(first.code, tell=False)
    monkeypatch.setattr(pairing, "QUIET_MS", 0)
    assert ask(pairings, person(1), "m3") == first
    (request,) = pairings.requests(now_ms())
    assert (request.code, request.person_id, request.name) == (first.code, "1", "Ada")
    assert request.expires_at - request.requested_at == 3_600_000


def test_an_account_has_three_requests_at_most_and_expired_ones_do_not_count(
    pairings: Pairings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as brief:
        brief.setattr(pairing, "CODE_MS", 0)
        expired = ask(pairings, person(0))
    assert expired is not None
    assert pairings.requests(now_ms()) == []
    assert approve(pairings, person(0), expired.code) is None

    assert all(ask(pairings, person(number)) for number in (1, 2, 3))
    assert ask(pairings, person(4)) is None
    assert ask(pairings, person(4, "work")) is not None, "another account has its own"
    assert ask(pairings, person(1)) is not None


def test_a_code_lets_its_person_in_and_is_used_up(pairings: Pairings) -> None:
    asked = ask(pairings, person(1))
    assert asked is not None
    refuse(pairings, 1)

    assert approve(pairings, person(1), "WRONGONE") is None
    assert approve(pairings, person(2), asked.code) is None, "it is another person's"
    assert approve(pairings, person(1), asked.code) == Approved(owner=True)
    assert approve(pairings, person(1), asked.code) == Approved(owner=True), "a repeat gets the first answer"
    assert pairings.requests(now_ms()) == []
    assert pairings.refusals() == []
    assert [(each.subject, each.owner) for each in pairings.admissions()] == [("telegram:1", True)]
    assert set(pairings.admitted([person(1), person(2)])) == {person(1)}


def test_the_first_person_becomes_owner_unless_there_is_one(pairings: Pairings) -> None:
    assert approve(pairings, Subject("telegram", group_id="-100")) == Approved(owner=False), "a group owns nothing"
    assert approve(pairings, person(1), has_owner=True) == Approved(owner=False)
    assert approve(pairings, person(2)) == Approved(owner=True)
    assert approve(pairings, person(3)) == Approved(owner=False)
    assert pairings.revoke("telegram:2")
    assert approve(pairings, person(4)) == Approved(owner=True)


def test_a_second_person_does_not_join_a_shared_conversation(pairings: Pairings) -> None:
    assert approve(pairings, person(1), may_share=False) == Approved(owner=True)

    assert approve(pairings, person(2), may_share=False) == SecondPerson("telegram:1")
    assert approve(pairings, person(2), may_share=False, same_person=("telegram:1",)) == Approved(owner=False)
    assert approve(pairings, person(3), may_share=True) == Approved(owner=False)
    assert approve(pairings, Subject("telegram", group_id="-100"), may_share=False) == Approved(owner=False)
    assert approve(pairings, Subject("telegram", person_id="9", group_id="-100"), may_share=False) == Approved(
        owner=False
    )


def test_a_person_of_the_configuration_counts_as_the_first(pairings: Pairings) -> None:
    assert approve(pairings, person(1), may_share=False, has_other=True) == SecondPerson("")
    assert pairings.admissions() == []


def test_who_is_revoked_is_let_in_no_longer(pairings: Pairings) -> None:
    approve(pairings, person(1))
    ask(pairings, person(2))

    assert pairings.revoke("telegram:1")
    assert pairings.revoke("telegram:2"), "a request is forgotten too"
    assert not pairings.revoke("telegram:1")
    assert (pairings.admissions(), pairings.requests(now_ms())) == ([], [])


def test_refusals_are_counted_and_only_the_latest_are_kept(pairings: Pairings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "MOST_REFUSED", 3)
    for message, number in enumerate((1, 2, 3, 1, 4)):
        refuse(pairings, number, f"m{message}")

    kept = {each.subject: each.count for each in pairings.refusals()}
    assert len(kept) == 3
    assert kept.get("telegram:1", 2) == 2, "in the same millisecond any of them may go"
    assert pairings.refusals()[0].reason == "not-allowed"


def test_a_message_that_is_delivered_again_is_one_refusal(pairings: Pairings) -> None:
    refuse(pairings, 1)
    refuse(pairings, 1)

    assert [each.count for each in pairings.refusals()] == [1]


def test_a_damaged_record_lets_nobody_in(pairings: Pairings, redis: redis_py.Redis, namespace: str) -> None:
    redis.hset(Keys(namespace).admitted, "telegram:1", '{"owner": true}')

    assert pairings.admitted([person(1)]) == {}
    assert pairings.admissions() == []


def test_of_many_who_ask_at_once_three_get_a_code(shared: Callable[[], Pairings]) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        codes = list(threads.map(lambda number: ask(shared(), person(number)), range(MANY)))

    given = [code.code for code in codes if code]
    assert len(given) == len(set(given)) == 3


def test_one_person_who_asks_many_times_at_once_has_one_code(shared: Callable[[], Pairings]) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        codes = list(threads.map(lambda number: ask(shared(), person(1), f"m{number}"), range(MANY)))

    assert len({code.code for code in codes if code}) == 1
    assert sum(code.tell for code in codes if code) == 1
    assert None not in codes


def test_of_many_who_are_approved_at_once_one_becomes_owner(shared: Callable[[], Pairings]) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        done = list(threads.map(lambda number: approve(shared(), person(number)), range(MANY)))

    assert sorted(each.owner for each in done if isinstance(each, Approved)) == [False] * (MANY - 1) + [True]


def test_of_many_who_are_approved_at_once_one_joins_a_shared_conversation(shared: Callable[[], Pairings]) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        done = list(threads.map(lambda number: approve(shared(), person(number), may_share=False), range(MANY)))

    (joined,) = [each for each in done if isinstance(each, Approved)]
    assert joined.owner
    assert len(shared().admissions()) == 1
