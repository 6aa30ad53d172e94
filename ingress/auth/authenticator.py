"""From a request to its principal: a bearer token, or the cookie of a browser session."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread
from starlette.requests import HTTPConnection

from ingress.auth.principal import OPEN, Principal, authority_of
from ingress.errors import HttpError
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tokens import Scope, Token
from openclaw_workers.store.tokens import Tokens, digest

COOKIE = "ocw_session"
TRUSTED_SECONDS = 2.0
"""How long a token that was found is not looked up again; a revoked one works for this long at most."""
NOTE_USE_SECONDS = 60.0
MOST_KNOWN = 4096


@dataclass(slots=True)
class _Known:
    token: Token
    checked_at: float
    noted_at: float


class Authenticator:
    def __init__(
        self,
        tokens: Tokens,
        *,
        is_open: bool,
        limiter: anyio.CapacityLimiter,
        authority_of_person: Callable[[str], Authority] = lambda person: Authority.ANYONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_open`: no token is needed."""
        self._tokens = tokens
        self._is_open = is_open
        self._limiter = limiter
        self._authority_of_person = authority_of_person
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def require(self, request: HTTPConnection, needed: Scope) -> Principal:
        """The principal of a request, if it has the scope.

        Raises:
            HttpError: 401 without a valid token or cookie, 403 without the scope.
            StoreUnavailable: nobody can tell.
        """
        principal = await self.principal(request)
        principal.require(needed)
        return principal

    async def principal(self, request: HTTPConnection) -> Principal:
        if self._is_open:
            return OPEN
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if bearer and kind.lower() == "bearer":
            return await self._known_principal(bearer.strip(), self._tokens.find, by_cookie=False)
        if cookie := request.cookies.get(COOKIE):
            return await self._known_principal(cookie, self._tokens.in_session, by_cookie=True)
        raise _unauthorized("a token is needed", "send `Authorization: Bearer TOKEN`; `ocw tokens create` makes one")

    def forget(self, secret: str) -> None:
        self._known.pop(digest(secret), None)

    async def _known_principal(self, secret: str, find: Callable[[str], Token | None], *, by_cookie: bool) -> Principal:
        name, now = digest(secret), self._clock()
        known = self._known.get(name)
        if known is None or now - known.checked_at > TRUSTED_SECONDS:
            known = await self._look_up(name, partial(find, secret), now)
        token = known.token
        authority = authority_of(token.scope)
        if token.person is not None:
            authority = self._authority_of_person(token.person)
        return Principal(token.id, token.scope, token.agent, token.person, authority, by_cookie)

    async def _look_up(self, name: str, find: Callable[[], Token | None], now: float) -> _Known:
        token = await anyio.to_thread.run_sync(find, limiter=self._limiter)
        before = self._known.pop(name, None)
        if token is None:
            raise _unauthorized("this token is not valid", "`ocw tokens list` shows the tokens there are")
        known = self._known[name] = _Known(token, now, before.noted_at if before else -NOTE_USE_SECONDS)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        if now - known.noted_at >= NOTE_USE_SECONDS:
            known.noted_at = now
            await anyio.to_thread.run_sync(self._tokens.note_use, token.id, limiter=self._limiter)
        return known


def _unauthorized(message: str, hint: str) -> HttpError:
    return HttpError(401, message, hint=hint, headers={"WWW-Authenticate": 'Bearer realm="openclaw"'})
