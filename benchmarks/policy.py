"""What the tool policy and hooks take of a turn, with 60 tools and one plugin that listens at every point."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.stage import Stage, seconds
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.hooks import Hooks, register
from openclaw_workers.tools.base import Effect, Tool, ToolContext, ToolInput
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.policy import ToolPolicy
from openclaw_workers.tools.registry import builtin_tools

TOOLS = 60
ROUNDS = 2_000


def policy(stage: Stage, *, turns: int = 300) -> dict[str, Any]:
    """The time of both per turn, as a share of an empty turn."""
    tools = (*builtin_tools(), *(_Extra(f"server__tool{number}") for number in range(TOOLS)))[:TOOLS]
    settings = Settings.model_validate({"tools": {"profile": "coding", "alsoAllow": ["server__*"], "deny": ["exec"]}})
    decided, inputs = ToolPolicy(settings, lambda: tools), PolicyInputs(agent_id="main", authority=Authority.OWNER)
    first = _microseconds(lambda: ToolPolicy(settings, lambda: tools).tools(inputs, tools), rounds=20)
    each = _microseconds(lambda: decided.tools(inputs, tools))
    unused = Hooks()
    silent = _microseconds(
        lambda: [unused.is_used(name) for name in ("session_start", "message_received", "agent_end")]
    )
    heard = _microseconds(_listened(unused))
    turn = _empty_turn(stage, turns) * 1000
    return {
        "first_decision_us": round(first),
        "policy_us": round(each, 1),
        "hooks_unused_us": round(silent, 1),
        "hooks_used_us": round(heard, 1),
        "empty_turn_us": round(turn),
        "share_percent": round((each + silent) / turn * 100, 2),
        "share_with_hooks_percent": round((each + heard) / turn * 100, 2),
    }


def _listened(hooks: Hooks) -> Callable[[], None]:
    """What a turn without tool calls tells a plugin."""
    register("message_received", lambda event: None, plugin="benchmark")
    register("agent_end", lambda event: None, plugin="benchmark")
    event = {"sessionKey": "agent:main:main", "messages": [{"id": "m", "text": "hello"}]}

    def tell() -> None:
        hooks.fire("message_received", event)
        hooks.fire("agent_end", event)

    return tell


def _empty_turn(stage: Stage, turns: int) -> float:
    """Milliseconds from accept to the final reply."""
    times = []
    with stage.worker(concurrency=4):
        for index in range(turns):
            begun = time.perf_counter()
            stage.wait(stage.send(f"p{index % 10}"))
            times.append(seconds(begun) * 1000)
    return statistics.median(times)


def _microseconds(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    act()
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        act()
        times.append((time.perf_counter() - begun) * 1e6)
    return statistics.median(times)


class _Extra(Tool[ToolInput]):
    effect = Effect.NONE
    input_type = ToolInput

    def __init__(self, name: str) -> None:
        self.name = name
        self.groups = ("mcp", "server")

    def run(self, args: ToolInput, ctx: ToolContext) -> str:
        return self.name
