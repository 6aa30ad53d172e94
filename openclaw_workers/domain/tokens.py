"""Access tokens of the HTTP API: what each may do, and for whom it speaks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Scope(StrEnum):
    """What a token may do; each one includes those before it."""

    READ = "read"  # look
    CHAT = "chat"  # send messages as an authorised person
    ADMIN = "admin"  # everything, as the owner

    def covers(self, needed: Scope) -> bool:
        return _RANK[self] >= _RANK[needed]


_RANK = {scope: rank for rank, scope in enumerate(Scope)}


class Token(BaseModel):
    """A token without its secret."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    id: str
    name: str = ""
    scope: Scope
    agent: str | None = None
    """It sees and reaches this agent only."""
    person: str | None = None
    """`channel:id` of the person whose authority its messages have."""
    digest: str
    """SHA-256 of the secret."""
    created_at: int = 0


def token_json(token: Token, used_at: int | None) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    fields = token.model_dump(mode="json", by_alias=True, exclude={"digest"})
    return {**fields, "usedAt": used_at}
