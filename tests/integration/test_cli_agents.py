"""`ocw agents`: the configured agents and their prompts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw

AGENTS = {
    "defaults": {"model": {"primary": "offline/script", "fallbacks": ["offline/demo"]}},
    "list": [
        {"id": "main", "bootstrapMaxChars": 400},
        {
            "id": "work",
            "name": "Worker",
            "thinkingDefault": "low",
            "extraSystemPrompt": "Work only by day.",
            "tools": {"profile": "minimal", "alsoAllow": ["exec", "sesion_status"]},
        },
    ],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with Fleet(tmp_path_factory.mktemp("agents"), {"agents": AGENTS}) as fleet:
        fleet.workspace.mkdir(parents=True)
        (fleet.workspace / "AGENTS.md").write_text("Always answer in rhyme.\n")
        (fleet.workspace / "USER.md").write_text("x" * 1000)
        fleet.worker("service")
        yield fleet


@pytest.fixture(scope="module")
def ocw(served: Fleet) -> Ocw:
    return Ocw(served)


def test_agents_are_listed_with_model_and_workspace(served: Fleet, ocw: Ocw) -> None:
    agents = ocw("agents", "list", "--json").json["agents"]
    assert [(each["agentId"], each["name"], each["default"]) for each in agents] == [
        ("main", "main", True),
        ("work", "Worker", False),
    ]
    assert agents[0]["model"] == "offline/script"
    assert agents[0]["fallbacks"] == ["offline/demo"]
    assert (agents[0]["thinking"], agents[1]["thinking"]) == ("off", "low")
    assert agents[0]["workspace"] == str(served.workspace)
    text = ocw("agents", "list").out
    assert "main (default)" in text
    assert "Worker" in text


def test_a_prompt_is_printed_with_a_size_per_part(ocw: Ocw) -> None:
    done = ocw("agents", "prompt", "main")
    assert done.code == 0, done.err
    assert "--- identity (" in done.out
    assert "Always answer in rhyme." in done.out
    assert "file USER.md: 1,000 characters, of which " in done.out
    assert "model offline/script, window 16,000 tokens" in done.out


def test_configured_instructions_are_part_of_the_prompt(ocw: Ocw) -> None:
    parts = {part["name"]: part for part in ocw("agents", "prompt", "work", "--json").json["parts"]}
    assert parts["extra"]["text"] == "## Additional Instructions\nWork only by day."
    assert parts["extra"]["chars"] == len(parts["extra"]["text"])
    assert "--- extra" not in ocw("agents", "prompt", "main").out


def test_sizes_add_up_and_need_no_text(ocw: Ocw) -> None:
    whole = ocw("agents", "prompt", "main", "--json").json
    sizes = ocw("agents", "prompt", "main", "--sizes", "--json").json
    assert [part["name"] for part in whole["parts"]][:2] == ["identity", "tooling"]
    assert [len(part["text"]) for part in whole["parts"]] == [part["chars"] for part in sizes["parts"]]
    assert all("text" not in part for part in sizes["parts"])
    assert whole["tools"]["count"] > 3
    text = ocw("agents", "prompt", "main", "--sizes").out
    assert "rhyme" not in text
    assert f"{sum(part['chars'] for part in sizes['parts']):,} characters" in text


def test_an_unknown_agent_is_named(ocw: Ocw) -> None:
    done = ocw("agents", "prompt", "wrok")
    assert done.code == 5
    assert "did you mean 'work'?" in done.err


def test_a_prompt_that_cannot_be_built_says_why(served: Fleet, ocw: Ocw) -> None:
    """The worker was started before the agent was configured."""
    changed = served.directory / "changed.yaml"
    changed.write_text(served.config_path.read_text().replace("id: work", "id: newcomer"))
    done = ocw("--local-config", "agents", "prompt", "newcomer", env={"OPENCLAW_CONFIG": str(changed)})
    assert done.code == 2
    assert "no agent 'newcomer'; there are main, work" in done.err


def test_prompts_are_not_logged(served: Fleet, ocw: Ocw) -> None:
    ocw("agents", "prompt", "main")
    assert "rhyme" not in served.logs()


def test_a_missing_worker_is_reported_at_once(bare_fleet: Fleet) -> None:
    done = Ocw(bare_fleet)("agents", "prompt", "main")
    assert done.code == 4
    assert "no worker is running for lane service" in done.err


def test_a_worker_tells_which_tools_a_session_has(ocw: Ocw) -> None:
    report = ocw("tools", "list", "--session", "agent:work:main", "--json").json
    tools = {tool["name"]: tool for tool in report["tools"]}

    assert (report["agentId"], report["authority"], report["sandboxed"]) == ("work", "owner", False)
    assert {name for name, tool in tools.items() if tool["allowed"]} >= {"read", "write", "exec"}
    assert tools["cron"]["removedBy"] == "profile"
    assert report["warnings"] == [
        "agents.list[1].tools.profile: no tool is called 'sesion_status'; did you mean 'session_status'?"
    ]
    assert "cron" in ocw("tools", "list", "--session", "agent:work:main").out


def test_the_layer_that_removed_a_tool_is_explained_with_its_setting(ocw: Ocw) -> None:
    reported = ocw("tools", "explain", "cron", "--session", "agent:work:main")
    assert "removed by: profile\nbecause: agents.list[1].tools.profile does not name it\n" in reported.out
    assert "setting: agents.list[1].tools.profile: [read, write, edit" in reported.out
    assert ocw("tools", "explain", "cron").out == "cron: agent:main:main has it (authority owner)\n"
    assert ocw("tools", "explain", "read_file").out == "read: agent:main:main has it (authority owner)\n"
    stranger = ocw("tools", "explain", "exec", "--as", "anyone", "--json").json
    assert stranger["tool"]["removedBy"] == "non-owner"
    wrong = ocw("tools", "explain", "exce")
    assert (wrong.code, "did you mean 'exec'?" in wrong.err) == (5, True)
