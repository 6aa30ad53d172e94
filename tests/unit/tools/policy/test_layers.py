"""Each layer of the tool policy removes what it names, in the documented order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.loader import load
from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.tree.lineage import senders_of
from openclaw_workers.tools.policy.inputs import PolicyInputs
from openclaw_workers.tools.policy.layers import steps_of
from openclaw_workers.tools.policy.names import GROUPS, PROFILES, Catalogue
from openclaw_workers.tools.policy.policy import ToolPolicy
from tests.unit.config.test_articles import FIXTURES
from tests.unit.tools.policy.conftest import EVERY_TOOL, Decide, tool

GROUP = ChannelGroup("telegram", "default", "-100")
EIGHT = ("read", "write", "edit", "apply_patch", "exec", "process", "web_search", "memory_search")


def in_group(**tools: Any) -> dict[str, Any]:
    return {"channels": {"telegram": {"groups": {"-100": {"tools": tools}}}}}


def by_agent(**tools: Any) -> dict[str, Any]:
    return {"agents": {"list": [{"id": "main", "tools": tools}]}}


LAYERS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("channel", {}, {"incompatible": ("exec",)}, "this session's channel cannot be used with it"),
    ("profile", {"tools": {"profile": "minimal"}}, {}, "tools.profile does not name it"),
    ("profile", by_agent(profile="messaging"), {}, "agents.list[0].tools.profile does not name it"),
    (
        "provider profile",
        {"tools": {"byProvider": {"openai": {"profile": "minimal"}}}},
        {"model": "openai/gpt-4o"},
        'tools.byProvider["openai"].profile does not name it',
    ),
    ("global", {"tools": {"deny": ["exec"]}}, {}, "tools.deny names it"),
    ("global", {"tools": {"allow": ["read"]}}, {}, "tools.allow does not name it"),
    (
        "global provider",
        {"tools": {"byProvider": {"openai/gpt-4o": {"deny": ["shell"]}, "openai": {"deny": ["read"]}}}},
        {"model": "openai/gpt-4o"},
        'tools.byProvider["openai/gpt-4o"].deny names it',
    ),
    ("agent", by_agent(deny=["exec"]), {}, "agents.list[0].tools.deny names it"),
    (
        "agent",
        {"agents": {"defaults": {"tools": {"deny": ["exec"]}}}},
        {},
        "agents.defaults.tools.deny names it",
    ),
    (
        "agent provider",
        by_agent(byProvider={"openai": {"deny": ["exec"]}}),
        {"model": "openai/gpt-4o"},
        'agents.list[0].tools.byProvider["openai"].deny names it',
    ),
    (
        "group",
        in_group(allow=["read"]),
        {"group": GROUP},
        'channels.telegram.groups["-100"].tools.allow does not name it',
    ),
    (
        "group",
        {"channels": {"telegram": {"groups": {"*": {"tools": {"deny": ["exec"]}}, "-100": {}}}}},
        {"group": GROUP},
        'channels.telegram.groups["*"].tools.deny names it',
    ),
    (
        "sandbox",
        {"tools": {"sandbox": {"tools": {"deny": ["exec"]}}}},
        {"is_sandboxed": True},
        "tools.sandbox.tools.deny names it",
    ),
    (
        "subagent",
        {"tools": {"subagents": {"tools": {"deny": ["exec"]}}}},
        {"depth": 1, "role": Role.ORCHESTRATOR},
        "tools.subagents.tools.deny names it",
    ),
    (
        "non-owner",
        {},
        {"authority": Authority.AUTHORIZED},
        "no owner asked for this turn, and tools.nonOwners.allow is not set",
    ),
    (
        "non-owner",
        {"tools": {"nonOwners": {"allow": ["read"]}}},
        {"authority": Authority.ANYONE},
        "tools.nonOwners.allow does not name it",
    ),
]


@pytest.mark.parametrize(("layer", "settings", "inputs", "reason"), LAYERS)
def test_each_layer_removes_what_it_names(
    decide: Decide, layer: str, settings: dict[str, Any], inputs: dict[str, Any], reason: str
) -> None:
    decision = decide(settings, **inputs)

    assert "exec" not in decision.allowed
    assert decision.removed["exec"].layer == layer
    assert decision.removed["exec"].text == reason


def test_the_layers_stand_in_their_order() -> None:
    settings = Settings()
    policy_steps = steps_of(
        settings, resolve_agent(settings, "main"), PolicyInputs(agent_id="main"), Catalogue(EVERY_TOOL, {})
    )

    assert [step.layer for step in policy_steps] == [
        *("channel", "profile", "provider profile", "global", "global provider", "agent", "agent provider"),
        *("group", "sandbox", "subagent", "non-owner", "owner-only"),
    ]


def test_the_printed_example_has_its_printed_result(tmp_path: Path) -> None:
    settings = load(FIXTURES / "004-5.3-tools-example.json", env={}, state_dir=tmp_path).settings
    policy = ToolPolicy(settings, lambda: [tool(name) for name in EIGHT])

    decision = policy.decide(PolicyInputs(agent_id="safe-agent"))

    assert decision.allowed == ("read", "write", "edit", "process", "web_search", "memory_search")
    assert {name: removal.layer for name, removal in decision.removed.items()} == {
        "apply_patch": "global",
        "exec": "agent",
    }


def test_a_sandboxed_group_has_messaging_and_session_tools_alone(tmp_path: Path) -> None:
    settings = load(FIXTURES / "003-8.1-sandbox.json5", env={}, state_dir=tmp_path).settings
    policy = ToolPolicy(settings, lambda: [tool(name) for name in EVERY_TOOL])

    for authority in Authority:
        inputs = PolicyInputs(agent_id="main", group=GROUP, is_sandboxed=True, authority=authority)
        assert set(policy.decide(inputs).allowed) == {*GROUPS["messaging"], *GROUPS["sessions"]}
    assert set(policy.decide(PolicyInputs(agent_id="main")).allowed) == set(EVERY_TOOL)


def test_tools_in_a_group_may_depend_on_who_asks(decide: Decide) -> None:
    """One turn may answer several people, and of some turns nobody knows who asked: these have the least."""
    by_sender = {
        "7": {},
        "8": {"deny": ["exec"]},
        "9": {"profile": "minimal", "alsoAllow": ["web_search"]},
        "*": {"allow": ["read", "session_status", "web_search"]},
    }
    config = {
        "channels": {"telegram": {"groups": {"-100": {"tools": {"deny": ["write"]}, "toolsBySender": by_sender}}}}
    }

    def allowed(*senders: str) -> set[str]:
        return set(decide(config, group=ChannelGroup("telegram", "default", "-100", senders)).allowed)

    assert {"exec", "write"} <= allowed("7")
    assert ("exec" in allowed("8"), "write" in allowed("8")) == (False, True)
    assert ("exec" in allowed("9"), {"read", "web_search"} <= allowed("9")) == (False, True)
    assert allowed("1") == {"read", "session_status", "web_search"}
    assert allowed("1", "7", "9") == allowed("1") & allowed("9")
    assert allowed() == allowed("1") & allowed("8") & allowed("9") - {"write"}
    removed = decide(config, group=ChannelGroup("telegram", "default", "-100", ("8",))).removed["exec"]
    assert removed.line.startswith('channels.telegram.groups["-100"].toolsBySender["8"].deny')


def test_a_group_without_senders_of_its_own_has_its_tools_and_then_those_of_all_groups(decide: Decide) -> None:
    everywhere = {"toolsBySender": {"8": {"deny": ["exec"]}}}

    def has_exec(own: dict[str, Any]) -> bool:
        config = {"channels": {"telegram": {"groups": {"*": everywhere, "-100": own}}}}
        return "exec" in decide(config, group=ChannelGroup("telegram", "default", "-100", ("8",))).allowed

    assert not has_exec({})
    assert has_exec({"tools": {}})
    assert has_exec({"toolsBySender": {"8": {}}})


def test_a_place_is_stored_with_those_who_asked() -> None:
    for place in (GROUP, ChannelGroup("telegram", "", "-1", ("7", "8"))):
        assert ChannelGroup.parse(place.stored()) == place
    assert senders_of([{"senderId": "8"}, {"senderId": "7"}, {"senderId": "8"}]) == ("7", "8")
    assert senders_of([{"senderId": "8"}, {}]) == senders_of([]) == senders_of([{"senderId": "7,8"}]) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_its_list(decide: Decide, profile: str) -> None:
    allowed = decide({"tools": {"profile": profile}}).allowed

    assert set(allowed) == (set(EVERY_TOOL) if profile == "full" else set(PROFILES[profile]))


def test_also_allow_adds_to_the_profile(decide: Decide) -> None:
    general = {"tools": {"profile": "minimal", "alsoAllow": ["cron"]}}

    assert set(decide(general).allowed) == {*PROFILES["minimal"], "cron"}
    assert set(decide({**general, **by_agent(alsoAllow=["group:web"])}).allowed) == {
        *PROFILES["minimal"],
        *GROUPS["web"],
    }


def test_also_allow_without_a_profile_restricts_nothing(decide: Decide) -> None:
    assert set(decide({"tools": {"alsoAllow": ["cron"]}}).allowed) == set(EVERY_TOOL)


def test_deny_wins_over_allow_in_one_place_and_in_any_other(decide: Decide) -> None:
    assert set(decide({"tools": {"allow": ["read", "write"], "deny": ["write"]}}).allowed) == {"read"}
    assert "exec" not in decide({"tools": {"allow": ["exec"]}, **by_agent(deny=["exec"])}).allowed


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["group:fs"], GROUPS["fs"]),
        (["sessions_*"], [name for name in GROUPS["sessions"] if name.startswith("sessions_")]),
        ([" READ "], ["read"]),
        (["read_file", "shell", "bash", "http_get"], ["read", "exec", "web_fetch"]),
        (["subagent.*"], ["subagents"]),
        (["shell*"], ["exec", "process"]),
        (["group:openclaw"], [name for name in EVERY_TOOL if name not in {*GROUPS["fs"], *GROUPS["runtime"]}]),
        (["*"], EVERY_TOOL),
        ([], EVERY_TOOL),
    ],
)
def test_a_list_names_tools_by_name_alias_pattern_and_group(decide: Decide, names: list[str], found: list[str]) -> None:
    assert set(decide({"tools": {"allow": names}}).allowed) == set(found)


def test_plugins_and_servers_have_groups(decide: Decide) -> None:
    tools = (tool("github__search", "mcp", "github"), tool("weather", "plugins", "sky"), "read")

    def allowed(*names: str) -> set[str]:
        return set(decide({"tools": {"allow": list(names)}}, tools=tools).allowed)

    assert (
        allowed("group:github")
        == allowed("github")
        == allowed("group:mcp")
        == allowed("github__*")
        == {"github__search"}
    )
    assert allowed("group:plugins") == allowed("sky") == {"weather"}


def test_an_unknown_name_warns_with_the_nearest(decide: Decide) -> None:
    decision = decide({"tools": {"deny": ["exce", "group:fz", "read", "read_file", "memory_*", "zz*"]}})

    assert decision.warnings == (
        "tools.deny: no tool is called 'exce'; did you mean 'exec'?",
        "tools.deny: no group is called 'group:fz'; did you mean 'group:fs'?",
        "tools.deny: no tool is called 'zz*'",
    )


def test_a_secret_for_an_unknown_tool_warns_too(decide: Decide) -> None:
    settings = {"secrets": {"DEPLOY_KEY": {"value": "hidden-value", "tools": ["exce", "shell", "group:fs"]}}}

    assert decide(settings).warnings == ("secrets.DEPLOY_KEY.tools: no tool is called 'exce'; did you mean 'exec'?",)


def test_the_names_of_servers_and_plugins_are_known_while_none_is_there(decide: Decide) -> None:
    """An MCP server that is down has no tools; that is no reason to doubt the policy."""
    names = ["group:plugins", "group:mcp", "group:tracker", "tracker", "tracker__search", "tracker__*", "zz__it"]
    settings = {"mcp": {"servers": {"tracker": {"command": "tracker"}}}, "tools": {"deny": names}}
    found = tool("tracker__find", "mcp", "tracker")

    assert decide(settings).warnings == ("tools.deny: no tool is called 'zz__it'",)
    assert decide(settings, tools=(found,)).warnings == (
        "tools.deny: no tool is called 'tracker__search'; did you mean 'tracker__find'?",
        "tools.deny: no tool is called 'zz__it'",
    )


def test_a_pattern_that_fits_tools_means_no_aliases(decide: Decide) -> None:
    assert "exec" not in decide({"tools": {"allow": ["s*"]}}).allowed
    assert "exec" not in decide({"tools": {"deny": ["shell*"]}}).allowed


@pytest.mark.parametrize(
    ("depth", "role", "denied"),
    [
        (0, Role.MAIN, set()),
        (1, Role.ORCHESTRATOR, {"gateway"}),
        (2, Role.ORCHESTRATOR, {"gateway", "cron", "message"}),
        (
            2,
            Role.LEAF,
            {"gateway", "cron", "message"}
            | {"sessions_spawn", "sessions_yield", "subagents", "sessions_list", "sessions_history", "sessions_send"}
            | {"sessions_search"},
        ),
    ],
)
def test_sub_agents_lose_tools_by_their_depth(decide: Decide, depth: int, role: Role, denied: set[str]) -> None:
    assert set(EVERY_TOOL) - set(decide({}, depth=depth, role=role).allowed) == denied


def test_only_owners_have_owner_only_tools(decide: Decide) -> None:
    tools = ("cron", "gateway", "nodes", "read", tool("reboot", owner_only=True))
    open_to_all = {"tools": {"nonOwners": {"allow": ["*"]}}}

    assert set(decide(open_to_all, tools=tools, authority=Authority.AUTHORIZED).allowed) == {"read"}
    assert len(decide(open_to_all, tools=tools).allowed) == len(tools)


def test_others_than_owners_have_nothing_of_the_host_by_default(decide: Decide) -> None:
    allowed = set(decide({}, authority=Authority.ANYONE).allowed)

    assert allowed == {*GROUPS["sessions"], *GROUPS["messaging"], *GROUPS["web"], *GROUPS["agents"]}


def test_a_groups_own_list_and_a_sandbox_take_the_place_of_that_default(decide: Decide) -> None:
    stranger = {"authority": Authority.ANYONE}

    assert set(decide(in_group(allow=["read", "grep"]), group=GROUP, **stranger).allowed) == {"read", "grep"}
    assert "exec" in decide({}, is_sandboxed=True, **stranger).allowed
    assert "exec" not in decide(in_group(deny=["web_fetch"]), group=GROUP, **stranger).allowed


def test_a_sandbox_has_a_default_of_its_own(decide: Decide) -> None:
    allowed = set(decide({}, is_sandboxed=True).allowed)

    assert allowed == {*GROUPS["fs"], *GROUPS["runtime"], *GROUPS["sessions"], "image"}
    assert "web_fetch" in decide({"tools": {"sandbox": {"tools": {"allow": []}}}}, is_sandboxed=True).allowed
    assert "browser" not in decide({"tools": {"sandbox": {"tools": {"allow": []}}}}, is_sandboxed=True).allowed


def test_an_agents_sandbox_policy_replaces_the_general_one(decide: Decide) -> None:
    settings = {
        "tools": {"sandbox": {"tools": {"allow": ["read"]}}},
        **by_agent(sandbox={"tools": {"allow": ["write"]}}),
    }

    assert set(decide(settings, is_sandboxed=True).allowed) == {"write"}


def test_a_sandbox_that_may_only_read_changes_no_files(decide: Decide) -> None:
    settings = {"agents": {"defaults": {"sandbox": {"mode": "all", "workspaceAccess": "ro"}}}}

    allowed = set(decide(settings, is_sandboxed=True).allowed)

    assert allowed.isdisjoint({"write", "edit", "apply_patch"})
    assert "read" in allowed


def test_a_general_setting_by_provider_serves_that_provider_alone(decide: Decide) -> None:
    settings = {"tools": {"byProvider": {"openai": {"alsoAllow": ["exec"], "profile": "minimal"}}}}

    assert set(decide(settings, model="openai/gpt-4o").allowed) == {*PROFILES["minimal"], "exec"}
    assert set(decide(settings, model="anthropic/claude-opus-4-6").allowed) == set(EVERY_TOOL)
