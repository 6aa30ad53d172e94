"""An agent's system prompt as a JSON answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.queries.service_workers import require_service_worker

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation


def prompt_answer(installation: Installation, wanted: str, ask: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The parts of a prompt with their sizes and texts. `ask` has a worker of the service lane build it.

    Raises:
        NotFound: there is no such agent.
        TransientError: no worker of that lane is running.
    """
    agent = resolve_agent_id(installation.loaded.settings, explicit=wanted)
    # Otherwise the question would wait in the queue until it times out.
    require_service_worker(installation)
    prompt = ask(agent)
    texts = {part["name"]: part["text"] for part in prompt.pop("texts")}
    parts = [{**part, "text": texts[part["name"]]} for part in prompt["parts"]]
    return {"ok": True, "agentId": agent, **prompt, "parts": parts}
