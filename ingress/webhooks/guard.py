"""Who may call webhooks: senders with the token, in a header. Addresses that guess are locked out for a while."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from starlette.requests import Request

from ingress.errors import HttpError

BAD_TRIES = 20
WINDOW_SECONDS = 60.0
LOCKED_SECONDS = 60.0
MOST_ADDRESSES = 10_000
HEADER = "x-openclaw-token"


class HookGuard:
    def __init__(self, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._digest = _digest(token)
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()
        """By address, when it gave a wrong token."""

    def check(self, request: Request) -> None:
        """Let a request pass.

        Raises:
            HttpError: 401 without the token, 400 with one in the address, 429 after too many wrong ones.
        """
        address = request.client.host if request.client else ""
        self._check_lock(address)
        if {"token", "access_token"} & set(request.query_params):
            # Addresses end up in logs of proxies and in histories.
            raise HttpError(400, "a token in the address is refused", hint="send it as `Authorization: Bearer TOKEN`")
        if hmac.compare_digest(_digest(_given(request)), self._digest):
            self._tries.pop(address, None)
            return
        self._note(address)
        raise HttpError(
            401,
            "the webhook token is missing or wrong",
            hint="send hooks.token as `Authorization: Bearer TOKEN` or in x-openclaw-token",
            headers={"WWW-Authenticate": 'Bearer realm="hooks"'},
        )

    def _check_lock(self, address: str) -> None:
        tries = self._tries.get(address)
        if tries is None or len(tries) < BAD_TRIES:
            return
        left = tries[-1] + LOCKED_SECONDS - self._clock()
        if left > 0:
            seconds = str(max(1, round(left)))
            raise HttpError(
                429, "too many wrong tokens from this address; try again later", headers={"Retry-After": seconds}
            )
        del self._tries[address]

    def _note(self, address: str) -> None:
        now = self._clock()
        tries = self._tries.setdefault(address, deque(maxlen=BAD_TRIES))
        self._tries.move_to_end(address)
        while tries and now - tries[0] > WINDOW_SECONDS:
            tries.popleft()
        tries.append(now)
        if len(self._tries) > MOST_ADDRESSES:
            self._tries.popitem(last=False)


def _given(request: Request) -> str:
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    return bearer.strip() if kind.lower() == "bearer" else request.headers.get(HEADER, "")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
