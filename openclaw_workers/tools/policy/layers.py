"""The layers of the tool policy, in their order, as steps for one turn.

channel          tools that the session's channel declares incompatible
profile          1  tools.profile, or the agent's, with alsoAllow
provider profile 2  the same by provider
global           3  tools.allow and tools.deny
global provider  4  tools.byProvider
agent            5  the agent's tools
agent provider   6  the agent's tools.byProvider
group            7  the tools of the group that the session, or the session that spawned it, belongs to, by sender
sandbox          8  in sandboxed sessions
subagent         9  in spawned sessions
non-owner        what turns of others than owners have at most
owner-only       tools that only owners have
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.tools import ProviderToolPolicy, ToolFilter, ToolPolicySettings
from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tree import Role
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.names import PROFILES, Catalogue
from openclaw_workers.tools.policy.pipeline import Rule, Step

OWNER_ONLY: Final = ("gateway", "cron", "nodes")
NON_OWNER_TOOLS: Final = ("group:sessions", "group:messaging", "group:web", "group:agents")
"""What others than owners have if nothing is configured: no files, commands or memory of the host."""
SANDBOX_ALLOW: Final = ("group:runtime", "group:fs", "group:sessions", "image")
SANDBOX_DENY: Final = ("browser", "canvas", "nodes", "cron", "gateway")
CHANGES_FILES: Final = ("write", "edit", "apply_patch")
DENIED_TO_LEAVES: Final = (
    *("sessions_spawn", "sessions_yield", "subagents", "sessions_list", "sessions_history", "sessions_search"),
    "sessions_send",
)
"""Leaves cannot have sub-agents, so they need no session control."""
MEMORY_TOOLS: Final = ("group:memory", "sessions_search")
"""What needs the memory index or its files."""


def steps_of(settings: Settings, agent: AgentConfig, inputs: PolicyInputs, catalogue: Catalogue) -> list[Step]:
    """All steps for a turn, also those without rules."""
    own, place = agent.tools, agent_place(settings, agent.id)
    at_own, at_global = f"{place}.tools", "tools"
    provider_own = _by_provider(own, inputs.model, at_own)
    provider_global = _by_provider(settings.tools, inputs.model, at_global)
    return [
        Step("channel", _product("deny", inputs.incompatible, f"{_channel(inputs)} cannot be used with it")),
        Step("profile", _profile((own, at_own), (settings.tools, at_global))),
        Step("provider profile", _profile(provider_own, provider_global)),
        Step("global", _lists(settings.tools, at_global)),
        Step("global provider", _lists(*provider_global)),
        Step("agent", _lists(own, at_own)),
        Step("agent provider", _lists(*provider_own)),
        Step("group", _group(settings, inputs.group)),
        Step("sandbox", _sandbox(settings, agent, place) if inputs.is_sandboxed else ()),
        Step("subagent", (*_by_depth(inputs), *_subagents(settings, inputs))),
        Step("non-owner", _non_owner(settings, inputs)),
        Step("owner-only", _owner_only(inputs, catalogue)),
    ]


def agent_place(settings: Settings, agent_id: str) -> str:
    """Where the settings of an agent's tools stand, as a path of the configuration."""
    for index, entry in enumerate(settings.agents.list):
        if entry.id == agent_id and "tools" in entry.model_fields_set:
            return f"agents.list[{index}]"
    profile = settings.agents.profiles.get(agent_id)
    if profile is not None and "tools" in profile.model_fields_set:
        return f"agents.profiles.{agent_id}"
    return "agents.defaults"


def _product(kind: Any, names: tuple[str, ...], says: str) -> tuple[Rule, ...]:
    return (Rule(kind, names, says, is_setting=False),) if names else ()


def _lists(given: ToolFilter | None, where: str) -> tuple[Rule, ...]:
    if given is None:
        return ()
    allow = (Rule("allow", given.allow, f"{where}.allow"),) if given.allow else ()
    deny = (Rule("deny", given.deny, f"{where}.deny"),) if given.deny else ()
    return (*deny, *allow)


def _profile(
    own: tuple[ProviderToolPolicy | None, str], other: tuple[ProviderToolPolicy | None, str]
) -> tuple[Rule, ...]:
    """The agent's profile or the general one, with what `alsoAllow` adds to it."""
    places = [(given, where) for given, where in (own, other) if given is not None]
    profile = next(((given.profile, where) for given, where in places if given.profile), None)
    if profile is None or profile[0] == "full":
        return ()
    added = next((given.also_allow for given, _ in places if given.also_allow), ())
    return (Rule("allow", (*PROFILES[str(profile[0])], *added), f"{profile[1]}.profile"),)


def _by_provider(given: ToolPolicySettings, model: str, where: str) -> tuple[ProviderToolPolicy | None, str]:
    """The policy for a model, else for its provider."""
    keys = {key.lower(): key for key in given.by_provider}
    for name in (model.lower(), model.lower().partition("/")[0]):
        if name and name in keys:
            return given.by_provider[keys[name]], f'{where}.byProvider["{keys[name]}"]'
    return None, where


def _group(settings: Settings, place: ChannelGroup | None) -> tuple[Rule, ...]:
    found = _group_tools(settings, place)
    return tuple(rule for each in found for rule in (*_lists(*each), *_profile(each, (None, ""))))


def _group_tools(settings: Settings, place: ChannelGroup | None) -> list[tuple[ProviderToolPolicy, str]]:
    """The policies of a group that hold for those who asked; a group that has none has those of `*`."""
    channel: Any = getattr(settings.channels, place.channel, None) if place else None
    account = channel.account(place.account_id or "default") if channel is not None and place else None
    if account is None or place is None:
        return []
    inside = f".accounts.{place.account_id}" if place.account_id in channel.accounts else ""
    at = f"channels.{place.channel}{inside}.groups"
    groups = [(account.groups[name], f'{at}["{name}"]') for name in (place.chat_id, "*") if name in account.groups]
    found = {where: tools for sender in place.senders or ("",) for tools, where in _of_sender(groups, sender)}
    return [(tools, where) for where, tools in found.items()]


def _of_sender(groups: Sequence[tuple[Any, str]], sender: str) -> list[tuple[ProviderToolPolicy, str]]:
    """The policy of one sender: by id, else by `*`, else that of the group. An unknown one has all of them."""
    for group, at in groups:
        by_sender, own = group.tools_by_sender, "tools" in group.model_fields_set
        # The safe side: without a sender, every list of the group applies, and each can only remove tools.
        if by_sender and not sender:
            every = [(tools, f'{at}.toolsBySender["{name}"]') for name, tools in by_sender.items()]
            return [*every, *([(group.tools, f"{at}.tools")] if own else [])]
        for name in (sender, "*"):
            if name in by_sender:
                return [(by_sender[name], f'{at}.toolsBySender["{name}"]')]
        if own:
            return [(group.tools, f"{at}.tools")]
    return []


def _sandbox(settings: Settings, agent: AgentConfig, place: str) -> tuple[Rule, ...]:
    given = (
        (agent.tools.sandbox.tools, f"{place}.tools.sandbox.tools"),
        (settings.tools.sandbox.tools, "tools.sandbox.tools"),
    )
    rules: list[Rule] = []
    for kind, name, usual in (("deny", "deny", SANDBOX_DENY), ("allow", "allow", SANDBOX_ALLOW)):
        written = next(((each, where) for each, where in given if name in each.model_fields_set), None)
        if written is None:
            rules += _product(kind, usual, "sandboxed sessions do not have it by default (tools.sandbox.tools)")
        elif names := getattr(written[0], name):
            rules.append(Rule("deny" if kind == "deny" else "allow", names, f"{written[1]}.{name}"))
    if agent.sandbox.workspace_access == "ro":
        rules += _product("deny", CHANGES_FILES, "the sandbox may only read the workspace (sandbox.workspaceAccess)")
    return tuple(rules)


def _by_depth(inputs: PolicyInputs) -> Iterator[Rule]:
    if inputs.role is Role.LEAF:
        yield from _product("deny", DENIED_TO_LEAVES, "a sub-agent that may not spawn does not control sessions")
    if inputs.depth >= 1:
        yield from _product("deny", ("gateway",), "sub-agents do not have it")
    if inputs.depth >= 2:
        yield from _product("deny", ("cron", "message"), "sub-agents of sub-agents do not have it")


def _subagents(settings: Settings, inputs: PolicyInputs) -> tuple[Rule, ...]:
    return _lists(settings.tools.subagents.tools, "tools.subagents.tools") if inputs.depth else ()


def _non_owner(settings: Settings, inputs: PolicyInputs) -> tuple[Rule, ...]:
    """A sandbox, or a list of the group's own, is what somebody decided for others; it takes the default's place."""
    if inputs.authority.covers(Authority.OWNER):
        return ()
    given = settings.tools.non_owners
    if given.allow is not None:
        return _lists(given, "tools.nonOwners")
    group = _group_tools(settings, inputs.group)
    decided = inputs.is_sandboxed or (group and all(tools.allow or tools.profile for tools, _ in group))
    says = "no owner asked for this turn, and tools.nonOwners.allow is not set"
    return (*_lists(given, "tools.nonOwners"), *(() if decided else _product("allow", NON_OWNER_TOOLS, says)))


def _owner_only(inputs: PolicyInputs, catalogue: Catalogue) -> tuple[Rule, ...]:
    if inputs.authority.covers(Authority.OWNER):
        return ()
    return _product("deny", (*OWNER_ONLY, *sorted(catalogue.owner_only)), "only owners have it")


def _channel(inputs: PolicyInputs) -> str:
    return f"the channel {inputs.group.channel}" if inputs.group else "this session's channel"
