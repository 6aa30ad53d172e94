"""From a request to its principal: a bearer token, or the cookie of a browser session."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.requests import HTTPConnection

from ingress.auth.principal import OPEN, Principal, authority_of
from ingress.auth.rate_limits import BAD_TOKENS, MINUTE, RateLimit, too_many
from ingress.errors import HttpError
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tokens import Scope, Token
from openclaw_workers.engine.access.person import PersonAuthority
from openclaw_workers.remote.address import TERMINAL_HEADER
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.tokens import Tokens, digest

A = TypeVar("A")
T = TypeVar("T")

COOKIE = "ocw_session"
TRUSTED_SECONDS = 2.0
"""How long a token that was found is not looked up again; a revoked one works for this long at most."""
REMEMBERED_SECONDS = 600.0
"""A token that was valid this lately is looked up although its address is locked out."""
NOTE_USE_SECONDS = 60.0
MOST_KNOWN = 4096


@dataclass(slots=True)
class _Known:
    token: Token
    principal: Principal
    checked_at: float
    noted_at: float


class Authenticator:
    def __init__(
        self,
        tokens: Tokens,
        logins: BrowserLogins,
        *,
        is_open: bool,
        requests_per_minute: int,
        limiter: anyio.CapacityLimiter,
        authority_of_person: Callable[[Token], PersonAuthority | None] = lambda token: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_open`: no token is needed. `authority_of_person`: of the one whom a token is bound to; None if they are
        not heard. It may block."""
        self._tokens = tokens
        self._logins = logins
        self._is_open = is_open
        self._limiter = limiter
        self._authority_of_person = authority_of_person
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._looking: dict[str, asyncio.Task[_Known | None]] = {}
        self._requests = RateLimit(requests_per_minute, clock=clock)
        self._bad_tokens = RateLimit(BAD_TOKENS, clock=clock)

    async def require(self, request: HTTPConnection, needed: Scope) -> Principal:
        """The principal of a request, if it has the scope; counts the request.

        Raises:
            HttpError: 401 without a valid token or cookie, 403 without the scope, 429 after too many requests.
            StoreUnavailable: nobody can tell.
        """
        principal = await self.principal(request)
        name = principal.token_id or peer_of(request)
        # A command of the owner has no limit where it speaks to Redis itself, so it has none here.
        if not principal.terminal and (wait := self._requests.wait_seconds(name)):
            raise too_many("too many requests with this token", wait)
        principal.require(needed)
        return principal

    async def principal(self, request: HTTPConnection) -> Principal:
        """The principal of a request, whatever its scope; does not count it."""
        if self._is_open:
            return _at_terminal(OPEN, request)
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if bearer and kind.lower() == "bearer":
            return _at_terminal((await self._valid(request, bearer.strip(), self._tokens.find)).principal, request)
        if cookie := request.cookies.get(COOKIE):
            return (await self._valid(request, cookie, self._logins.token_of)).principal
        raise _unauthorized("a token is needed", "send `Authorization: Bearer TOKEN`; `ocw tokens create` creates one")

    async def find(self, request: HTTPConnection, presented: str) -> Token:
        """The token that somebody logs in with."""
        return (await self._valid(request, presented, self._tokens.find)).token

    async def redeem(self, request: HTTPConnection, code: str) -> str:
        """The cookie of the browser session that a login code opens."""
        self._check_lock_out(request)
        cookie = await self._call(self._logins.redeem, code)
        if cookie is None:
            raise self._refused(
                request,
                "this login link is not valid",
                "it works once, for 15 minutes; `ocw tokens link` prints a new one",
            )
        return cookie

    def forget(self, secret: str) -> None:
        self._known.pop(digest(secret), None)

    async def _valid(self, request: HTTPConnection, secret: str, find: Callable[[str], Token | None]) -> _Known:
        name, now = digest(secret), self._clock()
        known = self._known.get(name)
        if known is not None and now - known.checked_at <= TRUSTED_SECONDS:
            return known
        # One client behind the same address that tries wrong tokens must not lock out those with a good one.
        if known is None or now - known.checked_at > REMEMBERED_SECONDS:
            self._check_lock_out(request)
        found = await self._looked_up(name, secret, find)
        if found is None:
            raise self._refused(request, "this token is not valid", "`ocw tokens list` shows the valid tokens")
        return found

    async def _looked_up(self, name: str, secret: str, find: Callable[[str], Token | None]) -> _Known | None:
        """Requests that come together share one look. It ends although the request that began it was given up."""
        looking = self._looking.get(name)
        if looking is None:
            looking = self._looking[name] = asyncio.create_task(self._look_up(name, secret, find))
            looking.add_done_callback(lambda _: self._looking.pop(name, None))
        # Shared with other requests, so one that is cancelled must not cancel it for all.
        return await asyncio.shield(looking)

    async def _look_up(self, name: str, secret: str, find: Callable[[str], Token | None]) -> _Known | None:
        known, now = self._known.get(name), self._clock()
        token = await self._call(find, secret)
        # Also if it is valid: putting it back moves it to the end of the order in which entries are dropped.
        self._known.pop(name, None)
        if token is None:
            return None
        noted_at = known.noted_at if known else -NOTE_USE_SECONDS
        return await self._remember(name, token, now, noted_at, by_cookie=find == self._logins.token_of)

    async def _remember(self, name: str, token: Token, now: float, noted_at: float, *, by_cookie: bool) -> _Known:
        if now - noted_at >= NOTE_USE_SECONDS:
            noted_at = now
            await self._call(self._tokens.note_use, token.id)
        authority = authority_of(token.scope)
        heard: PersonAuthority | None = PersonAuthority(authority, authority)
        if token.person is not None:
            heard = await self._call(self._authority_of_person, token)
        principal = _principal(token, heard, by_cookie=by_cookie)
        known = self._known[name] = _Known(token, principal, now, noted_at)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return known

    def _check_lock_out(self, request: HTTPConnection) -> None:
        if self._bad_tokens.is_empty(peer_of(request)):
            raise too_many("too many wrong tokens from this address", MINUTE / BAD_TOKENS)

    def _refused(self, request: HTTPConnection, message: str, hint: str) -> HttpError:
        # Called for its count.
        self._bad_tokens.wait_seconds(peer_of(request))
        return _unauthorized(message, hint)

    async def _call(self, act: Callable[[A], T], argument: A) -> T:
        return await anyio.to_thread.run_sync(act, argument, limiter=self._limiter)


def peer_of(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""


def _at_terminal(principal: Principal, request: HTTPConnection) -> Principal:
    """An `ocw` command on the machine of the installation says whose it is. Only the owner's token may say so."""
    # Headers hold Latin-1 only; the client quotes names with other letters.
    user = unquote(request.headers.get(TERMINAL_HEADER, ""))
    is_owner = principal.scope is Scope.ADMIN and principal.agent is None and principal.person is None
    return replace(principal, terminal=user) if user and is_owner else principal


def _unauthorized(message: str, hint: str) -> HttpError:
    return HttpError(401, message, hint=hint, headers={"WWW-Authenticate": 'Bearer realm="openclaw"'})


def _principal(token: Token, heard: PersonAuthority | None, *, by_cookie: bool) -> Principal:
    # Whoever is not heard on their channel may look, but not speak.
    return Principal(
        token_id=token.id,
        scope=token.scope if heard else Scope.READ,
        agent=token.agent,
        person=token.person,
        authority=heard.message if heard else Authority.ANYONE,
        command_authority=heard.command if heard else Authority.ANYONE,
        by_cookie=by_cookie,
    )
