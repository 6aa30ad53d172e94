"""Access tokens as JSON answers: make, list, revoke, and log a browser in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.domain.pairing import parse_subject
from openclaw_workers.domain.tokens import Scope, token_json
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.store.browser_logins import CODE_SECONDS

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation

MOST_NAME_CHARS = 80


def tokens_answer(installation: Installation) -> dict[str, Any]:
    """Every token, oldest first, without its secret."""
    return {"ok": True, "tokens": [token_json(token, used_at) for token, used_at in installation.stores.tokens.all()]}


def new_token_answer(
    installation: Installation, scope: Scope, *, name: str, agent: str | None, person: str | None
) -> dict[str, Any]:
    """A new token with its secret.

    Raises:
        BadInput: `person` names nobody.
        NotFound: there is no such agent.
    """
    # A token for an agent that does not exist would open nothing, and nobody would notice.
    if agent is not None:
        agent = resolve_agent_id(installation.loaded.settings, explicit=agent)
    if person is not None and parse_subject(person).kind != "person":
        raise BadInput(f"{person!r} is a group", hint="a person is written such as telegram:123456789")
    token, secret = installation.stores.tokens.create(
        scope, name=name.strip()[:MOST_NAME_CHARS], agent=agent, person=person
    )
    return {"ok": True, "token": secret, **token_json(token, None)}


def revoked_answer(installation: Installation, token: str) -> dict[str, Any]:
    """Raises:
    NotFound: there is no such token.
    """
    if not installation.stores.tokens.revoke(token):
        raise _no_token(token)
    return {"ok": True, "id": token}


def link_answer(installation: Installation, token: str, url: str) -> dict[str, Any]:
    """A link to the ingress at `url` that logs one browser in, once.

    Raises:
        NotFound: there is no such token.
    """
    if installation.stores.tokens.get(token) is None:
        raise _no_token(token)
    code = installation.stores.browser_logins.login_code(token)
    return {"ok": True, "url": f"{url}/auth/link?code={code}", "seconds": CODE_SECONDS}


def _no_token(token: str) -> NotFound:
    return NotFound(f"no token {token}", hint="`ocw tokens list` shows the ids")
