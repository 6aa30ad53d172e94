"""Which tools a turn has: the pipeline over the configuration, remembered for each kind of turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import structlog

from openclaw_workers.config.resolve import AgentConfig, resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.layers import MEMORY_TOOLS, steps_of
from openclaw_workers.tools.policy.names import Catalogue, catalogue_of
from openclaw_workers.tools.policy.pipeline import Decision, Rule, Step, apply

log = structlog.get_logger(__name__)


class ToolPolicy:
    """The policy of one configuration. A changed configuration has a new one, so nothing here grows old."""

    def __init__(
        self,
        settings: Settings,
        tools: Callable[[], Sequence[Tool[Any]]],
        *,
        disabled: Mapping[str, str] | None = None,
    ) -> None:
        """`tools`: all that the process has now. `disabled`: tools that a setting switches off, with its path."""
        self._settings = settings
        self._tools = tools
        self._disabled = dict(disabled or {})
        self._cached = lru_cache(maxsize=1024)(self._decide)
        # The same wrong name is met by every kind of turn, and reported once.
        self._warned: set[str] = set()

    def tools(self, inputs: PolicyInputs, tools: tuple[Tool[Any], ...]) -> list[Tool[Any]]:
        """Those of these tools that a turn has, in their order."""
        allowed = frozenset(self._cached(inputs, tools).allowed)
        return [tool for tool in tools if tool.name in allowed]

    def decide(self, inputs: PolicyInputs) -> Decision:
        """The same, with the reason for each tool that the turn does not have."""
        return self._cached(inputs, tuple(self._tools()))

    def _decide(self, inputs: PolicyInputs, tools: tuple[Tool[Any], ...]) -> Decision:
        agent = resolve_agent(self._settings, inputs.agent_id)
        catalogue = catalogue_of(tools, self._settings.mcp.servers)
        steps = [self._switched_off(agent), *steps_of(self._settings, agent, inputs, catalogue)]
        decision = apply(steps, catalogue)
        decision = replace(decision, warnings=(*decision.warnings, *self._secret_warnings(catalogue)))
        for warning in decision.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                log.warning("tools.unknown_name", problem=warning)
        return decision

    def _secret_warnings(self, catalogue: Catalogue) -> Iterator[str]:
        """A secret for a tool that does not exist reaches nobody, and nobody would notice."""
        for name, secret in self._settings.secrets.items():
            for warning in filter(None, map(catalogue.warning, secret.tools)):
                yield f"secrets.{name}.tools: {warning}"

    def _switched_off(self, agent: AgentConfig) -> Step:
        """Tools that a setting of their own switches off; the other layers cannot bring them back."""
        rules = [Rule("deny", (tool,), f"{where} is false", is_setting=False) for tool, where in self._disabled.items()]
        if not agent.memory_search.enabled:
            rules.append(Rule("deny", MEMORY_TOOLS, "memorySearch.enabled is false", is_setting=False))
        return Step("switched off", tuple(rules))
