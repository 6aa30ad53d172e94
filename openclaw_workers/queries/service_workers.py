"""Questions that only a worker can answer, because it has the host, the plugins and the MCP servers of turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openclaw_workers.client.follow_message import has_worker
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import NotFound, TransientError

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.queries.installation import Installation

Json = dict[str, Any]


def require_service_worker(installation: Installation) -> None:
    """Raises:
    TransientError: no worker of the service lane is running.
    """
    if not has_service_worker(installation):
        raise TransientError("no worker is running for lane service", hint="start one with `ocw up`")


def has_service_worker(installation: Installation) -> bool:
    return has_worker(installation.stores.workers.all(), Lane.SERVICE)


def tools_answer(
    installation: Installation, session: SessionKey, authority: str, ask: Callable[[SessionKey, str], Json]
) -> Json:
    """All tools of the workers, and which of them a session has."""
    require_service_worker(installation)
    return {"ok": True, **ask(session, authority)}


def tool_answer(
    installation: Installation, tool: str, session: SessionKey, authority: str, ask: Callable[[SessionKey, str], Json]
) -> Json:
    """Whether a session has one tool; if not, why.

    Raises:
        NotFound: no worker has a tool of that name.
    """
    report = tools_answer(installation, session, authority, ask)
    known = {each["name"]: each for each in report.pop("tools")}
    by_alias = {alias: each for each in known.values() for alias in each["aliases"]}
    name = tool.strip().lower()
    found = known.get(tool) or known.get(name) or by_alias.get(name)
    if found is None:
        raise NotFound(f"no worker has a tool {tool!r}", hint=did_you_mean(tool, known) or "`ocw tools list` shows all")
    return {**report, "tool": found}


def sandbox_answer(installation: Installation, session: SessionKey, ask: Callable[[SessionKey], Json]) -> Json:
    """Where the commands of a session run, and what holds each limit."""
    require_service_worker(installation)
    return {"ok": True, **ask(session)}
