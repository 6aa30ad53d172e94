"""Access tokens: make, list, revoke, and log a browser in."""

from __future__ import annotations

from typing import Any

from ingress.api.models.inputs import TokenInput
from ingress.api.table import Call, NoInput
from ingress.errors import HttpError
from openclaw_workers.queries.token_answers import link_answer, new_token_answer, revoked_answer, tokens_answer


def list_tokens(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    _check_unbound(call)
    return tokens_answer(call.context)


def create_token(call: Call[NoInput, TokenInput]) -> dict[str, Any]:
    _check_unbound(call)
    body = call.body
    return new_token_answer(call.context, body.scope, name=body.name, agent=body.agent, person=body.person)


def revoke_token(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    _check_unbound(call)
    return revoked_answer(call.context, call.path["id"])


def create_link(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    _check_unbound(call)
    return link_answer(call.context, call.path["id"], str(call.request.base_url).rstrip("/"))


def _check_unbound(call: Call[Any, Any]) -> None:
    """A token for one agent or person must not make one for all.

    Raises:
        HttpError: 403 for such a token.
    """
    if call.principal.agent is not None or call.principal.person is not None:
        raise HttpError(403, "a token that is bound to an agent or a person does not manage tokens")
