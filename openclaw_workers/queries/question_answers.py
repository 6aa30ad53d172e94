"""Answers about questions that runs wait for, for the command line and the API."""

from __future__ import annotations

from typing import Any

from openclaw_workers.config.resolve import agent_ids
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.question import Question
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.installation import Installation
from openclaw_workers.views.questions import allowed_json, question_json


def questions_answer(installation: Installation, only: str | None = None) -> dict[str, Any]:
    """What waits for an answer, and what was allowed for longer. `only`: of this agent alone."""
    stores = installation.stores
    standing = stores.standing_approvals
    patterns = [(agent, standing.patterns(agent)) for agent in agent_ids(stores.settings)]
    allowed = allowed_json(patterns, standing.operations())
    return {
        "ok": True,
        "questions": [question_json(each) for each in stores.questions.open() if only in (None, each.agent)],
        "allowed": [each for each in allowed if only in (None, each["agentId"])],
    }


def decided_answer(answers: Answers, wanted: str, how: str, by: str, only: str | None = None) -> dict[str, Any]:
    """Allow or deny a command, as an owner. `only`: of this agent alone."""
    question = _of_agent(answers.find(wanted), only)
    text = answers.decide(question, how, by=by, authority=Authority.OWNER)
    return {"ok": True, "id": question.id, "text": text}


def answered_answer(answers: Answers, wanted: str, text: str, by: str, only: str | None = None) -> dict[str, Any]:
    """Answer what an agent asked, as an owner. `only`: of this agent alone."""
    question = _of_agent(answers.find(wanted), only)
    return {
        "ok": True,
        "id": question.id,
        "text": answers.answer(question, text, by=by, authority=Authority.OWNER, address=None),
    }


def _of_agent(question: Question, only: str | None) -> Question:
    # The same answer as for an id that does not exist: a token for one agent must not learn of others.
    if only not in (None, question.agent):
        raise NotFound(f"no question {question.id!r}")
    return question


def revoked_answer(installation: Installation, agent: str, what: str) -> dict[str, Any]:
    """Take back what was allowed always, or for a time.

    Raises:
        NotFound: it was not allowed.
    """
    standing = installation.stores.standing_approvals
    if not standing.revoke(agent, what) and not standing.forget(what):
        raise NotFound(f"{what!r} is not allowed for agent {agent}", hint="`ocw approvals list` shows what is")
    return {"ok": True, "agentId": agent, "revoked": what}
