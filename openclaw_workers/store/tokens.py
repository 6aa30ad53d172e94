"""Access tokens. Redis holds their SHA-256 only, never a secret."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any

from pydantic import ValidationError

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.stored_json import model_json, versioned
from openclaw_workers.domain.tokens import Scope, Token
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import Keys

SECRET_BYTES = 32
_FORM = re.compile(r"ocw_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


class Tokens:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def create(
        self, scope: Scope, *, name: str = "", agent: str | None = None, person: str | None = None
    ) -> tuple[Token, str]:
        """A new token, and its secret, which nobody can read again."""
        ident, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
        token = Token(
            id=ident, name=name, scope=scope, agent=agent, person=person, digest=digest(secret), created_at=now_ms()
        )
        write(self._redis, (self._keys.tokens, "HSET", ident, versioned(model_json(token, by_alias=True))))
        return token, f"ocw_{ident}_{secret}"

    def all(self) -> list[tuple[Token, int | None]]:
        """Every token with the time of its last use, oldest first. Damaged records are left out."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hvals(self._keys.tokens)
            pipe.hgetall(self._keys.token_uses)
            raws, uses = pipe.execute()
        found = [token for token in map(_read, raws) if token is not None]
        return [
            (token, int(uses[token.id]) if token.id in uses else None)
            for token in sorted(found, key=lambda token: token.created_at)
        ]

    def revoke(self, ident: str) -> bool:
        """Remove a token; browser sessions that it opened end with it. False if there is none."""
        removed, _ = write(self._redis, (self._keys.tokens, "HDEL", ident), (self._keys.token_uses, "HDEL", ident))
        return bool(removed)

    def find(self, presented: str) -> Token | None:
        """The token whose secret this is."""
        # The id in the token finds its record, so that secrets are never searched for.
        form = _FORM.fullmatch(presented)
        token = self.get(form[1]) if form else None
        # Compared in constant time: how long it takes must not tell how much of a guess is right.
        if form is None or token is None or not hmac.compare_digest(token.digest, digest(form[2])):
            return None
        return token

    def get(self, ident: str) -> Token | None:
        with store_errors():
            raw: Any = self._redis.hget(self._keys.tokens, ident)
        return _read(raw) if raw else None

    def note_use(self, ident: str) -> None:
        write(self._redis, (self._keys.token_uses, "HSET", ident, str(now_ms())))


def digest(secret: str) -> str:
    # A fast hash without salt is enough: these are 32 random bytes, which nobody can guess from a list.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _read(raw: str) -> Token | None:
    try:
        return Token.model_validate_json(raw)
    except ValidationError:
        return None
