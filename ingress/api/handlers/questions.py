"""What waits for a person: list, allow, deny, answer."""

from __future__ import annotations

from typing import Any, Literal

from ingress.api.models.inputs import Name
from ingress.api.table import Call, Input, NoInput
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.engine.client_graph import answers_of
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.question_answers import (
    answered_answer,
    decided_answer,
    questions_answer,
    revoked_answer,
)


class DecideInput(Input):
    id: str = ""
    """The question; empty for the only one that waits."""
    how: Literal["once", "always", "for", "deny"]
    """Allow it once, always or for a time, or deny it."""


class AnswerInput(Input):
    id: Name
    text: str
    """The number of a choice, or words."""


class RevokeInput(Input):
    agent_id: Name
    what: str
    """A pattern that was allowed always, or the operation that was allowed for a time."""


def list_questions(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return questions_answer(call.context, call.principal.agent)


def decide(call: Call[NoInput, DecideInput]) -> dict[str, Any]:
    return decided_answer(_answers(call), call.body.id, call.body.how, _who(call), call.principal.agent)


def answer(call: Call[NoInput, AnswerInput]) -> dict[str, Any]:
    return answered_answer(_answers(call), call.body.id, call.body.text, _who(call), call.principal.agent)


def revoke(call: Call[NoInput, RevokeInput]) -> dict[str, Any]:
    # 404, not 403: a bound token must not learn which other agents exist.
    if call.principal.agent not in (None, call.body.agent_id):
        raise NotFound(f"no agent {call.body.agent_id!r}")
    return revoked_answer(call.context, call.body.agent_id, call.body.what)


def _answers(call: Call[Any, Any]) -> Answers:
    return answers_of(call.context.stores, call.context.waker)


def _who(call: Call[Any, Any]) -> str:
    return call.principal.person or "the owner"
