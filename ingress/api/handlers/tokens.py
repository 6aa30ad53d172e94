"""Access tokens: make, list, revoke, and log a browser in."""

from __future__ import annotations

from typing import Any

from ingress.api.access import require_unbound
from ingress.api.models.inputs import TokenInput
from ingress.api.table import Call, NoInput
from openclaw_workers.queries.token_answers import link_answer, new_token_answer, revoked_answer, tokens_answer


def list_tokens(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "manage tokens")
    return tokens_answer(call.context)


def create_token(call: Call[NoInput, TokenInput]) -> dict[str, Any]:
    require_unbound(call, "manage tokens")
    body = call.body
    return new_token_answer(call.context, body.scope, name=body.name, agent=body.agent, person=body.person)


def revoke_token(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "manage tokens")
    return revoked_answer(call.context, call.path["id"])


def create_link(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "manage tokens")
    return link_answer(call.context, call.path["id"], str(call.request.base_url).rstrip("/"))
