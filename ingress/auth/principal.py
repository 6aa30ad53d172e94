"""Who makes a request, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass

from ingress.errors import HttpError
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.tokens import Scope

_AUTHORITY = {Scope.READ: Authority.ANYONE, Scope.CHAT: Authority.AUTHORIZED, Scope.ADMIN: Authority.OWNER}


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a token, or everybody on this machine if `gateway.auth` is none."""

    token_id: str
    scope: Scope
    agent: str | None = None
    """The only agent it may see."""
    person: str | None = None
    """`channel:id` of the person for whom it speaks."""
    authority: Authority = Authority.ANYONE
    """Of the messages that it sends."""
    command_authority: Authority = Authority.ANYONE
    """Of the slash commands that it sends."""
    by_cookie: bool = False
    terminal: str = ""
    """The user of this machine whose `ocw` command speaks; empty for every other client."""

    def require(self, needed: Scope) -> None:
        if not self.scope.covers(needed):
            hint = f"`ocw tokens create --scope {needed}` creates a token for it"
            raise HttpError(403, f"this needs a token with scope {needed}; yours has {self.scope}", hint=hint)

    def may_see(self, session: str) -> bool:
        return self.agent is None or agent_of(session) == self.agent


def authority_of(scope: Scope) -> Authority:
    return _AUTHORITY[scope]


OPEN = Principal(token_id="", scope=Scope.ADMIN, authority=Authority.OWNER, command_authority=Authority.OWNER)
"""Everybody on this machine, with `gateway.auth: none`."""
