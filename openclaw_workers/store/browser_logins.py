"""Login codes and browser sessions. Redis holds their SHA-256 only, never a secret."""

from __future__ import annotations

import secrets

from openclaw_workers.domain.tokens import Token
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.tokens import SECRET_BYTES, Tokens, digest

CODE_SECONDS = 900
"""How long a login link works."""
SESSION_SECONDS = 30 * 86_400
"""How long a browser stays logged in without being used."""
RENEW_SECONDS = 86_400
"""A browser session is renewed at most this often."""


class BrowserLogins:
    """Browsers that use the rights of a token without knowing it."""

    def __init__(self, redis: Client, keys: Keys, tokens: Tokens) -> None:
        self._redis = redis
        self._keys = keys
        self._tokens = tokens

    def login_code(self, ident: str) -> str:
        """A code that logs one browser in, once, with the rights of a token."""
        code = secrets.token_urlsafe(SECRET_BYTES)
        write(self._redis, (self._keys.login(digest(code)), "SET", ident, "EX", CODE_SECONDS))
        return code

    def redeem(self, code: str) -> str | None:
        """Open a browser session with a login code; None if it is unknown, used or too old."""
        cookie = secrets.token_urlsafe(SECRET_BYTES)
        reply = run_script(
            self._redis,
            "login",
            keys={"code": self._keys.login(digest(code)), "session": self._keys.browser(digest(cookie))},
            args={"keep_s": SESSION_SECONDS},
        )
        return cookie if reply[0] == "ok" else None

    def open(self, ident: str) -> str:
        """The cookie of a new browser session with the rights of a token."""
        cookie = secrets.token_urlsafe(SECRET_BYTES)
        write(self._redis, (self._keys.browser(digest(cookie)), "SET", ident, "EX", SESSION_SECONDS))
        return cookie

    def token_of(self, cookie: str) -> Token | None:
        """The token of a browser session; None if it has ended or its token was revoked."""
        key = self._keys.browser(digest(cookie))
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.get(key)
            pipe.ttl(key)
            ident, left = pipe.execute()
        # Not with each request: every write waits for Redis to sync its file.
        if ident and left < SESSION_SECONDS - RENEW_SECONDS:
            write(self._redis, (key, "EXPIRE", SESSION_SECONDS))
        return self._tokens.get(str(ident)) if ident else None

    def end(self, cookie: str) -> None:
        write(self._redis, (self._keys.browser(digest(cookie)), "DEL"))
