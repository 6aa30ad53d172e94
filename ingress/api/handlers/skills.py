"""Skills of agents: list, show, check, begin and add them."""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ingress.api.access import agent_of_call, require_unbound
from ingress.api.models.skills import NewSkillInput, SkillPackageInput, SkillQuery, SkillsQuery
from ingress.api.table import Call, NoInput
from openclaw_workers.errors import BadInput
from openclaw_workers.queries import skill_answers
from openclaw_workers.skills.install import open_package


def list_skills(call: Call[SkillsQuery, NoInput]) -> dict[str, Any]:
    agent = agent_of_call(call, call.query.agent_id)
    return skill_answers.skills_answer(call.context, agent, _asking(call), with_refused=call.query.all)


def get_skill(call: Call[SkillQuery, NoInput]) -> dict[str, Any]:
    agent = agent_of_call(call, call.query.agent_id)
    return skill_answers.skill_answer(call.context, call.path["name"], agent, _asking(call))


def check_skills(call: Call[SkillQuery, NoInput]) -> dict[str, Any]:
    return skill_answers.skill_check(call.context, agent_of_call(call, call.query.agent_id), _asking(call))


def new_skill(call: Call[NoInput, NewSkillInput]) -> dict[str, Any]:
    """On the machine of the ingress."""
    require_unbound(call, "add skills")
    body = call.body
    return skill_answers.new_skill(call.context, body.name, body.description, body.agent_id, shared=body.shared)


def add_skills(call: Call[NoInput, SkillPackageInput]) -> dict[str, Any]:
    require_unbound(call, "add skills")
    body = call.body
    try:
        # Strict: without it, characters that are no base64 would be skipped and a damaged file accepted.
        packed = base64.b64decode(body.data.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise BadInput("data is not base64") from error
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "skills.zip"
        file.write_bytes(packed)
        packages = open_package(file, Path(scratch))
        return skill_answers.add_skills(call.context, packages, body.agent_id, replace=body.replace)


def _asking(call: Call[Any, Any]) -> skill_answers.AskWorker:
    def ask(agents: Sequence[str], with_text_of: str) -> dict[str, Any]:
        return call.context.celery().skills(agents, with_text_of)

    return ask
