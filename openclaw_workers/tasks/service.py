"""Short tasks that must not wait behind turns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from openclaw_workers.domain.ids import BatchId, SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.tasks.app import app
from openclaw_workers.tasks.signals import current_worker
from openclaw_workers.tasks.waker import (
    ANNOUNCE,
    MEMORY_NOTE,
    PROMPT,
    SANDBOX,
    SANDBOX_PRUNE,
    SANDBOXES,
    SKILLS,
    TOOLS,
)


@app.task(name=ANNOUNCE, ignore_result=True)
def announce(batch_id: str) -> None:
    """The body of a batch's chord: give its results to the parent. Too early or too often changes nothing."""
    current_worker().announcer.announce(BatchId(batch_id))


@app.task(name=MEMORY_NOTE, ignore_result=True)
def memory_note(session_id: str) -> None:
    """Save an ended conversation to memory. Too often changes nothing."""
    current_worker().session_notes.save(session_id)


@app.task(name=PROMPT, ignore_result=False, resultrepr_maxsize=1)  # logs and Flower must not show it
def prompt(agent_id: str) -> dict[str, Any]:
    """An agent's system prompt as this worker would send it. Workers have the workspace; the caller may not."""
    frame = current_worker().frames.default(agent_id)
    return {**frame.report, "texts": [asdict(part) for part in frame.sent_parts]}


@app.task(name=SANDBOX, ignore_result=False, resultrepr_maxsize=1)
def sandbox(session: str) -> dict[str, Any]:
    """Where the commands of a session run on this host."""
    return current_worker().sandbox_reports.report(SessionKey(session))


@app.task(name=SANDBOXES, ignore_result=False, resultrepr_maxsize=1)
def sandboxes() -> dict[str, Any]:
    """The sandboxes of this host's state directory."""
    return current_worker().sandbox_reports.all()


@app.task(name=SANDBOX_PRUNE, ignore_result=False, resultrepr_maxsize=1)
def sandbox_prune(everything: bool) -> dict[str, Any]:
    """Delete sandboxes of this host's state directory that nobody uses."""
    return current_worker().sandbox_reports.prune(everything=everything)


@app.task(name=SKILLS, ignore_result=False, resultrepr_maxsize=1)
def skills(agents: list[str], with_text_of: str) -> dict[str, Any]:
    """The skills of agents on this host. Workers know those of plugins, and what turns will find."""
    return current_worker().skill_reports.report(agents, with_text_of)


@app.task(name=TOOLS, ignore_result=False, resultrepr_maxsize=1)
def tools(session: str, authority: str) -> dict[str, Any]:
    """Which tools a session's turns have here, and why not the others. Workers know plugins and MCP servers."""
    return current_worker().tool_reports.report(SessionKey(session), Authority(authority))
