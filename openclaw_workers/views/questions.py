"""Questions to people, and what was allowed for longer, as JSON; shared by the command line, the API and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openclaw_workers.domain.question import Question


def question_json(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "kind": question.kind,
        "sessionKey": question.session,
        "runId": question.run,
        "agentId": question.agent,
        "text": question.text,
        "choices": list(question.choices),
        "command": question.command or None,
        "cwd": question.cwd or None,
        "place": question.place or None,
        "canAlways": bool(question.patterns),
        "authority": question.authority,
        "state": question.state,
        "askedAt": question.asked_at,
        "expiresAt": question.expires_at,
        "answer": question.answer or None,
        "answeredBy": question.by or None,
    }


def allowed_json(
    patterns: Iterable[tuple[str, Mapping[str, Mapping[str, Any]]]], operations: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What people allowed always, by agent, and what they allowed for a time."""
    always = [
        {"agentId": agent, "pattern": pattern, "operation": None, "cwd": None, "until": None, "by": note["by"]}
        for agent, notes in patterns
        for pattern, note in sorted(notes.items())
    ]
    for_a_time = [
        {
            "agentId": note["agent"],
            "pattern": note["command"],
            "operation": name,
            "cwd": note["cwd"],
            "until": note["until"],
            "by": note["by"],
        }
        for name, note in operations.items()
    ]
    return always + for_a_time
