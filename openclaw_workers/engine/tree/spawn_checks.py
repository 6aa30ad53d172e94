"""The article's list of checks on a spawn, in its order: what may not be spawned, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from openclaw_workers.config.base import Thinking
from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.resolve import AgentConfig, agent_ids
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.session_key import subagent_key
from openclaw_workers.domain.tree import SpawnMode
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.lineage import is_sandboxed
from openclaw_workers.errors import BadInput
from openclaw_workers.tools.sessions.spawn_input import SpawnInput

AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Refusal:
    status: Literal["error", "forbidden"]
    error: str

    def as_answer(self) -> dict[str, Any]:
        return {"status": self.status, "accepted": False, "error": self.error}


def no_room(limit: str) -> Refusal:
    """Why an agent's message is not taken: too many messages wait there, or the session has finished, and one more at
    work would break this limit."""
    if limit == "busy":
        return Refusal(
            "error", "that session is busy: too many messages wait there; yours was not delivered, send it later"
        )
    whose = "the session that started it" if limit == "children" else "its tree"
    return Refusal(
        "forbidden",
        f"it has finished, and your message would start it again, but {whose} has as many sub-agents at work as it may "
        "have; the message was not delivered: wait for a result, or stop one, and send it then",
    )


def check(
    parent: Parent, args: SpawnInput, active: int, settings: Settings, agent_of: Callable[[str], AgentConfig]
) -> Refusal | AgentConfig:
    """The agent that will do it, or the first reason why not."""
    limits, target = parent.agent.subagents, args.agent_id or parent.agent.id
    if args.agent_id is not None and not AGENT_ID.fullmatch(args.agent_id):
        return Refusal("error", f"agentId {args.agent_id[:80]!r} is not an agent id; expected {AGENT_ID.pattern}")
    deepest = parent.limits.depth
    if parent.depth >= deepest:
        return Refusal(
            "forbidden",
            f"you are at depth {parent.depth} and sub-agents may be {deepest} deep at most; do it yourself",
        )
    if active >= limits.max_children_per_agent:
        return Refusal(
            "forbidden",
            f"you have {active} sub-agents at work and may have {limits.max_children_per_agent}; "
            "wait for their results",
        )
    if limits.require_agent_id and args.agent_id is None:
        return Refusal("forbidden", f"agentId is required here; you may name {_allowed(parent, settings)}")
    return _other_agent(parent, target, settings) or _the_rest(parent, args, settings, agent_of(target))


def _other_agent(parent: Parent, target: str, settings: Settings) -> Refusal | None:
    listed = parent.agent.subagents.allow_agents
    if target == parent.agent.id:
        return None
    if listed is None or not ("*" in listed or target in listed):
        return Refusal("forbidden", f"you may not spawn agent {target!r}, only {_allowed(parent, settings)}")
    if target not in agent_ids(settings):
        return Refusal(
            "forbidden", f"agent {target!r} is allowed but not configured; there are {_allowed(parent, settings)}"
        )
    return None


def _allowed(parent: Parent, settings: Settings) -> str:
    listed = parent.agent.subagents.allow_agents or ()
    known = agent_ids(settings)
    others = known if "*" in listed else [name for name in known if name in listed]
    return ", ".join(dict.fromkeys([parent.agent.id, *others]))


def _mode(parent: Parent, args: SpawnInput) -> Refusal | None:
    if args.mode is SpawnMode.SESSION and not args.thread:
        return Refusal("error", 'mode "session" needs thread: true; use mode "run" for a single task')
    if args.thread and args.mode is SpawnMode.RUN:
        return Refusal("error", 'thread: true needs mode "session"')
    if args.thread and not parent.taken.row.get("lastChannel"):
        return Refusal(
            "error", "nobody speaks to you on a channel, so there is no thread to bind it to; leave out thread"
        )
    return None


def _the_rest(parent: Parent, args: SpawnInput, settings: Settings, target: AgentConfig) -> Refusal | AgentConfig:
    name, child = settings.session.main_key, subagent_key(target.id, "x")
    if is_sandboxed(parent.agent, parent.session, name) and not is_sandboxed(target, child, name):
        return Refusal("forbidden", f"you are sandboxed and agent {target.id!r} would not be; that is not allowed")
    if (refusal := _mode(parent, args)) is not None:
        return refusal
    if args.thinking is not None and args.thinking not in get_args(Thinking):
        return Refusal(
            "error", f"thinking {args.thinking!r} is not a level; expected one of {', '.join(get_args(Thinking))}"
        )
    if args.model is not None:
        try:
            find_model(settings, args.model)
        except BadInput as error:
            return Refusal("error", f"model {args.model!r}: {error.message}")
    return target
