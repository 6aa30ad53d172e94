"""The token of webhooks, and the lock-out of addresses that guess."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from ingress.errors import HttpError
from ingress.webhooks.guard import BAD_TRIES, LOCKED_SECONDS, WINDOW_SECONDS, HookGuard

TOKEN = "correct-horse-battery"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guard(clock: Clock) -> HookGuard:
    return HookGuard(TOKEN, clock=clock)


def request(token: str = "", *, header: str = "authorization", query: str = "", address: str = "10.0.0.1") -> Request:
    value = f"Bearer {token}" if header == "authorization" else token
    headers = [(header.encode(), value.encode())] if token else []
    scope = {"type": "http", "headers": headers, "query_string": query.encode(), "client": (address, 1)}
    return Request(scope)


def status(guard: HookGuard, asked: Request) -> int:
    try:
        guard.check(asked)
    except HttpError as error:
        return error.status
    return 200


@pytest.mark.parametrize("header", ["authorization", "x-openclaw-token"])
def test_the_token_is_taken_from_either_header(guard: HookGuard, header: str) -> None:
    assert status(guard, request(TOKEN, header=header)) == 200
    assert status(guard, request(TOKEN + "x", header=header)) == 401
    assert status(guard, request()) == 401


def test_a_token_in_the_address_is_refused_even_beside_the_right_one(guard: HookGuard) -> None:
    assert status(guard, request(query=f"token={TOKEN}")) == 400
    assert status(guard, request(TOKEN, query="token=x")) == 400


def test_an_address_that_guesses_is_locked_out_and_others_are_not(guard: HookGuard, clock: Clock) -> None:
    assert [status(guard, request("wrong")) for _ in range(BAD_TRIES)] == [401] * BAD_TRIES

    with pytest.raises(HttpError) as refused:
        guard.check(request(TOKEN))
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "60"})
    assert status(guard, request(TOKEN, address="10.0.0.2")) == 200

    clock.now += LOCKED_SECONDS
    assert status(guard, request(TOKEN)) == 200


def test_tries_far_apart_and_tries_before_a_success_do_not_add_up(guard: HookGuard, clock: Clock) -> None:
    for _ in range(BAD_TRIES - 1):
        status(guard, request("wrong"))
    clock.now += WINDOW_SECONDS + 1
    assert status(guard, request("wrong")) == 401
    assert status(guard, request(TOKEN)) == 200
    assert [status(guard, request("wrong")) for _ in range(BAD_TRIES - 1)] == [401] * (BAD_TRIES - 1)
