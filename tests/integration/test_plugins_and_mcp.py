"""Workers with a plugin, a broken one and an MCP server: turns use the tools, and `ocw` says what each worker has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.domain.transcript import ToolResultEntry
from tests.support import mcp_stub
from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.programs import call, program, say
from tests.support.waiting import eventually

PLUGIN = '''
from openclaw_workers import CallContext, tool

@tool(effect="none")
def shout(text: str, ctx: CallContext) -> str:
    """Say it loudly."""
    return f"{text.upper()} in {ctx.session_key}"
'''


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("tools")
    (directory / "shouting.py").write_text(PLUGIN)
    (directory / "skills" / "shouting").mkdir(parents=True)
    (directory / "skills" / "shouting" / "SKILL.md").write_text(
        "---\nname: shouting\ndescription: Be loud.\n---\nShout.\n"
    )
    (directory / "broken_plugin.py").write_text("raise RuntimeError('this one never works')")
    config = {
        "plugins": {"paths": [str(directory)], "modules": ["shouting", "broken_plugin"]},
        "mcp": {
            "startWaitSeconds": 30,
            "servers": {
                "stub": {"command": sys.executable, "args": [str(Path(mcp_stub.__file__))]},
                "gone": {"command": "no-such-program"},
            },
        },
    }
    with Fleet(directory / "fleet", config) as running:
        running.ready(*(running.worker(lane, wait=False) for lane in ("main", "service")))
        yield running


def test_a_turn_uses_the_tools_of_plugins_and_servers(fleet: Fleet) -> None:
    calls = [{"tool": "shout", "input": {"text": "hello"}}, {"tool": "stub__echo", "input": {"text": "heard"}}]

    done = fleet.outcome(fleet.send(program(call(*calls), say("done")), "tools"), within=60)

    shouted, heard = (entry.text for entry in fleet.transcript("tools") if isinstance(entry, ToolResultEntry))
    assert (done.text, shouted) == ("done", "HELLO in agent:main:tools")
    assert "heard" in heard
    assert "UNTRUSTED_TEXT" in heard


def test_commands_show_what_each_worker_has(fleet: Fleet) -> None:
    ocw = Ocw(fleet)
    eventually(lambda: len(ocw("plugins", "list", "--json").json["workers"]) == 2, within=30)

    listed, checked = ocw("plugins", "list"), ocw("plugins", "check")
    eventually(lambda: "ready" in ocw("mcp", "status").out, within=30)
    status = ocw("mcp", "status")

    assert "shouting" in listed.out
    assert "RuntimeError: this one never works" in listed.out
    assert (checked.code, "broken_plugin" in checked.out) == (1, True)
    assert "there is no program or directory no-such-program" in status.out
    (worker,) = ocw("mcp", "status", "--json").json["workers"]
    assert worker["lane"] == "main"


def test_the_prompt_has_one_line_for_each_of_them(fleet: Fleet) -> None:
    prompt = Ocw(fleet)("agents", "prompt", "main").out

    assert "- shout: Say it loudly" in prompt
    assert "- stub__echo: It does echo" in prompt


def test_the_skill_of_a_plugin_is_listed_by_a_worker(fleet: Fleet) -> None:
    ocw = Ocw(fleet)
    listed = ocw("skills", "list", "--json").json
    assert [each["source"] for each in listed["skills"] if each["name"] == "shouting"] == ["plugin"]
    assert listed["judgedBy"]
    shown = ocw("skills", "show", "shouting")
    assert shown.out.endswith("Shout.\n\n")
    alone = ocw("skills", "list", env={"REDIS_URL": "", "OPENCLAW_STATE_DIR": str(fleet.directory / "elsewhere")})
    assert "shouting" not in alone.out
