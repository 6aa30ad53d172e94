"""No step of the pipeline ever adds a tool."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tree import Role
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.layers import steps_of
from openclaw_workers.tools.policy.names import GROUPS, Catalogue
from openclaw_workers.tools.policy.pipeline import apply
from tests.unit.tools.policy.conftest import EVERY_TOOL

NAMES = st.lists(
    st.sampled_from([*EVERY_TOOL, *(f"group:{name}" for name in GROUPS), "*", "mem*", "shell", "typo", "group:typo"]),
    max_size=4,
)
LISTS = st.fixed_dictionaries({}, optional={"allow": NAMES, "deny": NAMES})
PROFILES = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["minimal", "coding", "messaging", "full"]),
        "deny": NAMES,
        "alsoAllow": NAMES,
    },
)
POLICIES = st.one_of(LISTS, PROFILES)
WITH_PROVIDERS = st.builds(lambda policy, provider: {**policy, "byProvider": {"openai": provider}}, POLICIES, POLICIES)
CONFIGURATIONS = st.builds(
    lambda everyone, agent, group, sandbox, subagents, others: {
        "tools": {**everyone, "sandbox": {"tools": sandbox}, "subagents": {"tools": subagents}, "nonOwners": others},
        "agents": {"list": [{"id": "main", "tools": agent}]},
        "channels": {"telegram": {"groups": {"-1": {"tools": group}}}},
    },
    *(WITH_PROVIDERS, WITH_PROVIDERS, POLICIES, LISTS, LISTS, LISTS),
)
INPUTS = st.builds(
    PolicyInputs,
    agent_id=st.just("main"),
    model=st.sampled_from(["openai/gpt-4o", "anthropic/claude-opus-4-6"]),
    depth=st.integers(0, 3),
    role=st.sampled_from(list(Role)),
    authority=st.sampled_from(list(Authority)),
    group=st.sampled_from([None, ChannelGroup("telegram", "default", "-1")]),
    is_sandboxed=st.booleans(),
    incompatible=st.sampled_from([(), ("exec",)]),
)
CATALOGUE = Catalogue(EVERY_TOOL, {name: frozenset(names) for name, names in GROUPS.items()})


@settings(max_examples=150, deadline=None)
@given(CONFIGURATIONS, INPUTS)
def test_a_step_never_adds_a_tool(configuration: dict[str, Any], inputs: PolicyInputs) -> None:
    given_settings = Settings.model_validate(configuration)
    steps = steps_of(given_settings, resolve_agent(given_settings, "main"), inputs, CATALOGUE)
    before = EVERY_TOOL
    for count in range(1, len(steps) + 1):
        decision = apply(steps[:count], CATALOGUE)
        assert set(decision.allowed) <= set(before)
        assert set(decision.allowed) | set(decision.removed) == set(EVERY_TOOL)
        before = decision.allowed
    if not inputs.authority.covers(Authority.OWNER):
        assert set(before).isdisjoint({"gateway", "cron", "nodes"})
