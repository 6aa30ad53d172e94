"""Skills as JSON answers: those of an agent, one with its text, and what is wrong with them; and new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import agent_ids, resolve_agent_id, workspace_dir
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.skills.report import skills_of_machine
from openclaw_workers.errors import NotFound, TransientError
from openclaw_workers.queries.service_workers import has_service_worker
from openclaw_workers.skills.install import Package, create, install
from openclaw_workers.skills.json_forms import package_json

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation

Json = dict[str, Any]
AskWorker = Callable[[Sequence[str], str], Json]
"""Asks a worker for the skills of agents; with the name of a skill, also for its text."""


def skills_answer(installation: Installation, agent: str | None, ask: AskWorker, *, with_refused: bool) -> Json:
    """The skills that an agent is offered; `with_refused` also the others, with the reason."""
    wanted = resolve_agent_id(installation.loaded.settings, explicit=agent)
    report = _report(installation, [wanted], "", ask)
    found = [each for each in report["agents"][wanted] if with_refused or each["offered"]]
    judge, warnings = report["judgedBy"], report["warnings"]
    return {"ok": True, "agentId": wanted, "judgedBy": judge, "skills": found, "warnings": warnings}


def skill_answer(installation: Installation, name: str, agent: str | None, ask: AskWorker) -> Json:
    """One skill with its text.

    Raises:
        NotFound: the agent has none of that name.
    """
    wanted = resolve_agent_id(installation.loaded.settings, explicit=agent)
    report = _report(installation, [wanted], name, ask)
    found = {each["name"]: each for each in report["agents"][wanted]}
    if name not in found:
        hint = did_you_mean(name, found) or "`ocw skills list --all`"
        raise NotFound(f"no skill {name!r} of agent {wanted}", hint=hint)
    return {"ok": True, "agentId": wanted, "judgedBy": report["judgedBy"], **found[name]}


def skill_check(installation: Installation, agent: str | None, ask: AskWorker) -> Json:
    """Files that are no usable skills, and configured names that no skill has; for one agent, or for all."""
    settings = installation.loaded.settings
    agents = [resolve_agent_id(settings, explicit=agent)] if agent else agent_ids(settings)
    report = _report(installation, agents, "", ask)
    problems = report["problems"]
    judge, warnings = report["judgedBy"], report["warnings"]
    return {"ok": not problems, "judgedBy": judge, "problems": problems, "warnings": warnings}


def _report(installation: Installation, agents: Sequence[str], with_text_of: str, ask: AskWorker) -> Json:
    """By a worker of the service lane; where none runs, what this machine can tell."""
    try:
        # The worker's machine counts: a skill may need programs and variables that only it has.
        if has_service_worker(installation):
            return ask(agents, with_text_of)
    except TransientError:
        pass  # there is no Redis, or no worker answers
    loaded = installation.loaded
    return skills_of_machine(loaded.settings, loaded.state_dir).report(agents, with_text_of)


def new_skill(installation: Installation, name: str, description: str, agent: str | None, *, shared: bool) -> Json:
    """Begin a skill with a file to fill in.

    Raises:
        BadInput: the name is no name for a folder.
        ConflictError: there is one already.
    """
    path = create(name, " ".join(description.split()), skills_folder(installation, agent, shared=shared))
    return {"ok": True, "name": name, "path": str(path)}


def add_skills(installation: Installation, packages: Sequence[Package], agent: str | None, *, replace: bool) -> Json:
    """Add unpacked skills: for all agents, or into the workspace of one.

    Raises:
        BadInput: a name is no name for a folder.
        ConflictError: there is one of that name, and it is not to be replaced.
    """
    root = skills_folder(installation, agent, shared=agent is None)
    added = [{**package_json(each), "path": str(install(each, root, replace=replace))} for each in packages]
    return {"ok": True, "skills": added}


def skills_folder(installation: Installation, agent: str | None, *, shared: bool) -> Path:
    """Where new skills go: `<state>/skills` for all agents, or the workspace of one."""
    loaded = installation.loaded
    if shared:
        return loaded.state_dir / "skills"
    wanted = resolve_agent_id(loaded.settings, explicit=agent)
    return workspace_dir(loaded.settings, wanted, loaded.state_dir) / "skills"
