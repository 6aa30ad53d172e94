"""The installation: status, usage, agents, commands, and who is asking."""

from __future__ import annotations

from typing import Any

from ingress.api.models.inputs import UsageQuery
from ingress.api.table import Call, NoInput
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.engine.intake.commands.registry import list_commands
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.agent_answers import agents_answer
from openclaw_workers.queries.prompt_answers import prompt_answer
from openclaw_workers.queries.status_answers import status_fields, usage_answer, usage_totals


def get_status(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return {"ok": True, **status_fields(call.context, call.context.trees.undelivered())}


def get_damaged(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return {"ok": True, "damaged": call.context.stores.reader.quarantined()}


def get_usage(call: Call[UsageQuery, NoInput]) -> dict[str, Any]:
    query = call.query
    sums, total = usage_totals(call.context, query.by, query.days, call.principal.agent)
    return usage_answer(query.by, query.days, sums, total)


def list_agents(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    answer = agents_answer(call.context.loaded)
    wanted = call.principal.agent
    return {**answer, "agents": [each for each in answer["agents"] if wanted in (None, each["agentId"])]}


def get_prompt(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """A worker of the service lane builds it, because it contains files of the agent's workspace."""
    wanted = call.path["id"]
    if call.principal.agent not in (None, wanted.lower()):
        raise NotFound(f"no agent {wanted!r}")
    return prompt_answer(call.context, wanted, lambda agent: call.context.celery().prompt(agent))


def commands(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    """Those that whoever asks may use."""
    settings = call.context.settings
    agent = call.principal.agent or default_agent_id(settings)
    skills = call.context.stores.skill_commands.of_agent(agent)
    known = list_commands(settings.session.reset_triggers, call.principal.command_authority, skills)
    return {"ok": True, "commands": known}


def who_am_i(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    principal = call.principal
    return {
        "ok": True,
        "tokenId": principal.token_id or None,
        "scope": principal.scope,
        "agent": principal.agent,
        "person": principal.person,
        "authority": principal.authority,
    }
