"""The agents' memory as JSON answers: what is indexed, files, their lines, and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import agent_ids, resolve_agent, resolve_agent_id
from openclaw_workers.engine.memory.client import MemoryClient
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.errors import TransientError
from openclaw_workers.memory.scopes import Visibility, visibility
from openclaw_workers.state_dir import state_dir_id

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.queries.installation import Installation

MOST_RESULTS = 100


def memory_of(installation: Installation) -> MemoryClient:
    """The service worker that owns the memory index of this state directory."""
    stores = installation.stores
    return MemoryClient(
        stores.memory, PlaceClient(stores.place_requests), lambda: state_dir_id(installation.loaded.state_dir)
    )


def memory_status(installation: Installation, agent: str | None) -> dict[str, Any]:
    """What is indexed for one agent, or for each."""
    return {"ok": True, "agents": [memory_of(installation).status(each) for each in _agents(installation, agent)]}


def memory_index(
    installation: Installation,
    agent: str | None,
    *,
    force: bool,
    progress: Callable[[str], Callable[[int, int], None]] = lambda agent: lambda done, all_of: None,
) -> dict[str, Any]:
    """Bring the index up to date; `progress` gives, for an agent, a function that is called with its progress."""
    memory = memory_of(installation)
    reports = [memory.sync(each, force=force, progress=progress(each)) for each in _agents(installation, agent)]
    return {"ok": True, "agents": reports}


def memory_search(
    installation: Installation,
    query: str,
    *,
    agent: str | None = None,
    session: SessionKey | None = None,
    limit: int = 6,
    sources: Sequence[str] = (),
) -> dict[str, Any]:
    """Search memory files and conversations; with `session`, only what that session may find."""
    if session is not None:
        visible = visibility(session)
    else:
        visible = Visibility(resolve_agent_id(installation.loaded.settings, explicit=agent), (), sees_all=True)
    asked: dict[str, Any] = {"maxResults": min(limit, MOST_RESULTS)}
    if sources:
        asked["sources"] = list(sources)
    return {"ok": True, "agentId": visible.agent_id, **memory_of(installation).search(query, visible, asked)}


def memory_files_answer(installation: Installation, agent: str | None) -> dict[str, Any]:
    """The memory files of an agent."""
    wanted = resolve_agent_id(installation.loaded.settings, explicit=agent)
    return {"ok": True, "agentId": wanted, **memory_of(installation).files(wanted)}


def memory_lines(
    installation: Installation, path: str, *, agent: str | None, first: int | None, count: int | None
) -> dict[str, Any]:
    """Lines of a memory file."""
    wanted = resolve_agent_id(installation.loaded.settings, explicit=agent)
    return {"ok": True, "agentId": wanted, **memory_of(installation).get(wanted, path, first, count)}


def memory_checks(installation: Installation, agent: str | None) -> dict[str, Any]:
    """Whether memory can be searched, and what to do if it cannot."""
    wanted = resolve_agent_id(installation.loaded.settings, explicit=agent)
    checks = list(_checks(installation, wanted))
    return {"ok": all(check["ok"] for check in checks), "agentId": wanted, "checks": checks}


def _checks(installation: Installation, agent: str) -> list[dict[str, Any]]:
    memory = memory_of(installation)
    checks = [_check("enabled", *_is_enabled(installation, agent))]
    try:
        status = memory.status(agent)
    # Nothing below can be checked without the index, and the message says what to do.
    except TransientError as error:
        return [*checks, _check("index", False, f"{error.message}. {error.hint or ''}".strip())]
    indexed = f"{status['backend']}, collection {status['collection']}, {status['chunks']} chunks"
    checks.append(_check("index", True, indexed))
    embedder = status.get("note") or f"{status['provider']}/{status['model']}"
    checks.append(_check("embedder", "note" not in status, embedder))
    waiting = f"{status['changedFiles']} changed files are not indexed yet; `ocw memory index` does it now"
    checks.append(_check("up to date", not status["changedFiles"], waiting if status["changedFiles"] else "yes"))
    # Any word will do: this only shows that a search works from end to end.
    found = memory.search("memory", Visibility(agent, (), sees_all=True), {"maxResults": 1})
    checks.append(_check("search", True, f"answers, mode {found['mode']}"))
    return checks


def _is_enabled(installation: Installation, agent: str) -> tuple[bool, str]:
    enabled = resolve_agent(installation.loaded.settings, agent, default_model="offline/demo").memory_search.enabled
    return enabled, "yes" if enabled else f"memorySearch.enabled is false for {agent}; its agent has no memory tools"


def _check(name: str, is_ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": is_ok, "detail": detail}


def _agents(installation: Installation, agent: str | None) -> Sequence[str]:
    settings = installation.loaded.settings
    return [resolve_agent_id(settings, explicit=agent)] if agent else agent_ids(settings)
