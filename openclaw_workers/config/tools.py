"""Which sessions have which tools, and the tools' limits."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from openclaw_workers.config.base import WEEK_SECONDS, Duration, Names, PeerIds, Section
from openclaw_workers.config.web import WebSettings

Profile = Literal["minimal", "coding", "messaging", "full"]


class ToolFilter(Section):
    allow: Names | None = None
    """Only these tools, by name, pattern or group:<name>; [] allows all."""

    deny: Names = ()
    """Never these tools; wins over allow."""


class ProviderToolPolicy(ToolFilter):
    profile: Profile | None = None
    """Starting set: minimal, coding, messaging or full; unset: full."""

    also_allow: Names = ()
    """These tools in addition to the profile."""

    @model_validator(mode="after")
    def _allow_or_also_allow(self) -> Self:
        if self.allow is not None and self.also_allow:
            raise ValueError("expected allow or alsoAllow, not both in one place")
        return self


class ToolPolicySettings(ProviderToolPolicy):
    by_provider: dict[str, ProviderToolPolicy] = Field(default_factory=dict)
    """Further policy by provider or by provider/model; the latter wins."""


class AgentToAgentRule(Section):
    from_: str = Field(alias="from")
    """Agent that sends; * means any."""

    to: str
    """Agent that receives; * means any."""


def _pairs(value: object) -> object:
    """A plain list of names lets each of them talk to every other."""
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return [{"from": sender, "to": receiver} for sender, receiver in product(value, value)]
    return value


class AgentToAgentSettings(Section):
    enabled: StrictBool = False
    """Whether agents may see and message other agents' sessions at all."""

    allow: Annotated[
        tuple[AgentToAgentRule, ...],
        BeforeValidator(_pairs, json_schema_input_type=list[AgentToAgentRule] | list[str]),
    ] = ()
    """Who may talk to whom; an empty list means nobody, or everybody if sessions.visibility is all."""


class SandboxToolsSettings(Section):
    tools: ToolFilter = ToolFilter()
    """Tools of sandboxed sessions; docs/tools-policy.md lists the defaults."""


class SubagentToolsSettings(Section):
    tools: ToolFilter = ToolFilter()
    """Tools of spawned sessions; this can only remove tools that their depth allows."""


def _waitable(value: timedelta) -> timedelta:
    if not timedelta(seconds=1) <= value <= timedelta(days=7):
        raise ValueError("expected a time from 1s to 7d")
    return value


class ExecSettings(Section):
    security: Literal["deny", "allowlist", "full"] | None = None
    """Which commands may run on the host: none, those of the allow-list, or all. Unset: full in direct chats of an
    owner, else allowlist."""

    ask: Literal["off", "on-miss", "always"] | None = None
    """When owners are asked: never, for commands that the list does not name, or for each. Unset: off where security is
    full in direct chats of an owner, else on-miss."""

    ask_fallback: Literal["deny", "allowlist", "full"] = "deny"
    """What applies if nobody answers in time."""

    allowlist: Names = ()
    """Commands that may run, such as `git`, `git status` or `npm run *`. Each part of a pipeline must match;
    commands with more than plain words never match."""

    approval_timeout: Annotated[Duration, AfterValidator(_waitable)] = timedelta(minutes=10)
    """How long a command waits for an owner's decision."""

    approval_for: Annotated[Duration, AfterValidator(_waitable)] = timedelta(hours=1)
    """How long `allow for a time` allows exactly the same command in the same directory."""

    timeout_sec: StrictInt = Field(default=120, ge=1, le=WEEK_SECONDS)
    """Seconds a command may take if the call sets no limit; never more than engine.toolTimeoutSeconds."""

    background_ms: StrictInt = Field(default=10_000, ge=10, le=120_000)
    """Milliseconds a call waits for its command before the command continues in the background."""

    notify_on_exit: StrictBool = True
    """Whether a session is woken and told when one of its background commands ends. A command that
    succeeds without output wakes nobody."""

    cleanup_ms: StrictInt = Field(default=1_800_000, ge=60_000, le=10_800_000)
    """Milliseconds the output of a background command is kept after its end."""


class LoopDetectionSettings(Section):
    enabled: StrictBool = True
    """Stop an agent that repeats the same tool call without progress."""

    history_size: StrictInt = Field(default=30, ge=1)
    """How many of the latest tool calls are checked."""

    warning_threshold: StrictInt = Field(default=10, ge=1)
    """Warn the model after this many repeats."""

    critical_threshold: StrictInt = Field(default=20, ge=1)
    """Block the call after this many repeats without progress."""

    global_circuit_breaker_threshold: StrictInt = Field(default=30, ge=1)
    """Block any call after this many repeats with the same result, whatever the tool."""

    @model_validator(mode="after")
    def _thresholds_grow(self) -> Self:
        if not self.warning_threshold < self.critical_threshold < self.global_circuit_breaker_threshold:
            raise ValueError("expected warningThreshold < criticalThreshold < globalCircuitBreakerThreshold")
        if self.global_circuit_breaker_threshold > self.history_size:
            raise ValueError("expected historySize to be at least globalCircuitBreakerThreshold, which counts in it")
        return self


class SessionToolsSettings(Section):
    visibility: Literal["self", "tree", "agent", "all"] = "agent"
    """Which sessions the session tools see: self (only their own), tree (also those it spawned), agent (all of the
    agent) or all (of every agent that agentToAgent allows). Unset: agent, plus those that agentToAgent.allow names."""


class AgentElevatedSettings(Section):
    enabled: StrictBool = True
    """Whether /elevated works for this agent too. It can only restrict what tools.elevated allows."""

    allow_from: dict[str, PeerIds] = Field(default_factory=dict)
    """Of the owners that tools.elevated.allowFrom names, only these, by channel and id; {} means all of them."""


class ElevatedSettings(AgentElevatedSettings):
    enabled: StrictBool = False
    """Whether owners can let commands of a sandboxed session run on the host, with /elevated."""

    allow_from: dict[str, PeerIds] = Field(default_factory=dict)
    """Owners who may, by channel and id; * stands for every owner on that channel."""


class AgentToolsSettings(ToolPolicySettings):
    loop_detection: LoopDetectionSettings = LoopDetectionSettings.model_construct()
    """Protection against endlessly repeated tool calls."""

    sandbox: SandboxToolsSettings = SandboxToolsSettings.model_construct()
    """Policy inside a sandbox."""

    exec: ExecSettings = ExecSettings.model_construct()
    """The exec tool."""

    elevated: AgentElevatedSettings = AgentElevatedSettings()
    """Commands of sandboxed sessions on the host."""


class ToolsSettings(AgentToolsSettings):
    agent_to_agent: AgentToAgentSettings = AgentToAgentSettings.model_construct()
    """Messages between agents."""

    subagents: SubagentToolsSettings = SubagentToolsSettings.model_construct()
    """Policy in spawned sessions."""

    elevated: ElevatedSettings = ElevatedSettings.model_construct()
    """Commands of sandboxed sessions on the host."""

    non_owners: ToolFilter = ToolFilter()
    """Tools of turns that no owner asked for. Unset: session, messaging and web tools, and what the group's own policy
    or the sandbox allows."""

    sessions: SessionToolsSettings = SessionToolsSettings.model_construct()
    """What the session tools may see."""

    web: WebSettings = WebSettings.model_construct()
    """The tools web_fetch and web_search."""
