"""The system prompt: which parts, in which order, and that it stays the same where it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.prompt.sections import PromptFacts, join, prompt_parts, split
from openclaw_workers.agent.prompt.workspace_files import ContextFile
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.tree import Role

TOOLS = ("exec", "memory_get", "memory_search", "read", "sessions_spawn")
EVERYTHING: dict[str, Any] = {
    "theme": "dry",
    "emoji": "\N{CRAB}",
    "avatar": "me.png",
    "skills": "<available_skills></available_skills>",
    "docs": ["docs://a.md"],
    "owners": ["+123"],
    "model_aliases": [("opus", "anthropic/claude-opus-4-6")],
    "timezone": "Asia/Shanghai",
    "files": [ContextFile("SOUL.md", "be kind", 7), ContextFile("USER.md", "Ada", 3)],
    "extra": "Be brief.",
    "model": "anthropic/claude-opus-4-6",
    "channel": "telegram",
    "repo": "/ws",
    "host": "worker-1",
    "os": "linux",
}


def facts(*tools: str, **more: Any) -> PromptFacts:
    specs = [ToolSpec(name, f"Does {name}. In detail.", {}) for name in tools]
    return PromptFacts(agent_id="main", agent_name="Claw", workspace=Path("/ws"), specs=specs, **more)


def names(given: PromptFacts) -> list[str]:
    return [part.name for part in prompt_parts(given)]


def text(given: PromptFacts, name: str) -> str:
    return next(part.text for part in prompt_parts(given) if part.name == name)


def test_tools_are_listed_in_order_with_one_line_each() -> None:
    given = ("zebra", "web_search", "memory_search", "exec", "alpha", "find", "write", "read", "sessions_spawn", "edit")
    listed = [line for line in text(facts(*given), "tooling").splitlines() if line.startswith("- ")]
    assert listed == [
        "- read: Read file contents",
        "- write: Create or overwrite files",
        "- edit: Make precise edits to files",
        "- exec: Run shell commands (pty available for TTY-required CLIs)",
        "- find: Find files by glob pattern",
        "- web_search: Search the web (Brave API, SearXNG or Tavily)",
        "- memory_search: Search memory (MEMORY.md + memory/*.md)",
        "- sessions_spawn: Spawn an isolated sub-agent session",
        "- alpha: Does alpha",
        "- zebra: Does zebra",
    ]


def test_the_prompt_names_sub_agents_only_if_the_agent_can_have_some() -> None:
    assert "## Sub-agents" not in text(facts("read", "exec"), "tooling")
    assert "## Sub-agents" in text(facts("sessions_spawn"), "tooling")
    assert "no tools" in text(facts(), "tooling")


def test_the_parts_come_in_the_articles_order() -> None:
    articles = [
        "identity",
        "tooling",
        "safety",
        "skills",
        "memory",
        "workspace",
        "documentation",
        "project context",
        "silent replies",
        "runtime",
    ]
    shown = names(facts(*TOOLS, **EVERYTHING))
    assert [name for name in shown if name in articles] == articles
    assert set(shown) - set(articles) == {"owners", "models", "time", "extra", "worker"}


def test_empty_parts_are_left_out() -> None:
    assert names(facts()) == ["identity", "tooling", "safety", "workspace", "silent replies", "runtime"]


def test_a_sub_agent_gets_the_minimal_prompt() -> None:
    given = facts(*TOOLS, role=Role.LEAF, **{**EVERYTHING, "files": ()})
    assert names(given) == ["identity", "tooling", "safety", "workspace", "extra", "runtime", "worker"]
    assert "background task" in join(prompt_parts(given))
    assert "personal assistant" not in join(prompt_parts(given))
    assert text(given, "extra") == "## Subagent Context\nBe brief."
    assert text(facts(extra="Be brief."), "extra") == "## Additional Instructions\nBe brief."


def test_the_prompt_names_the_agent() -> None:
    identity = "You are Claw, a personal assistant.\nYour manner: dry\nYour emoji: \N{CRAB}\nYour picture: me.png"
    assert text(facts(**EVERYTHING), "identity") == identity
    assert text(facts(), "identity") == "You are Claw, a personal assistant."


def test_mode_none_has_only_the_identity_and_extra_instructions() -> None:
    identity = "You are Claw, a personal assistant."
    assert join(prompt_parts(facts(*TOOLS, mode="none", **EVERYTHING | {"extra": ""}))) == identity
    added = f"{identity}\n\n## Additional Instructions\nBe brief."
    assert join(prompt_parts(facts(*TOOLS, mode="none", **EVERYTHING))) == added


@pytest.mark.parametrize(
    ("part", "tools"),
    [("skills", ("exec",)), ("documentation", ("exec",)), ("memory", ("read",))],
)
def test_parts_about_missing_tools_are_left_out(part: str, tools: tuple[str, ...]) -> None:
    assert part not in names(facts(*tools, **EVERYTHING))


def test_soul_md_adds_its_instruction() -> None:
    project = text(facts(**EVERYTHING), "project context")
    assert "embody its persona" in project
    assert "## USER.md\n\nAda" in project
    assert "embody" not in text(facts(files=[ContextFile("USER.md", "Ada", 3)]), "project context")


def test_citations_can_be_switched_off() -> None:
    assert "include Source" in text(facts("memory_search"), "memory")
    assert "disabled" in text(facts("memory_search", citations=False), "memory")


def test_two_workers_differ_only_at_the_very_end() -> None:
    one = facts(*TOOLS, **EVERYTHING)
    other = facts(*TOOLS, **(EVERYTHING | {"host": "worker-2", "os": "darwin"}))
    first, second = join(prompt_parts(one)), join(prompt_parts(other))
    common = first.index("worker-1")
    assert first[:common] == second[:common]
    assert first[common:] == "worker-1 | os=linux]"
    assert split(prompt_parts(one))[:2] == split(prompt_parts(other))[:2]
    assert "\n\n".join(split(prompt_parts(one))) == first


def test_the_runtime_line_names_what_is_known() -> None:
    line = text(facts(**EVERYTHING, thinking="low", verbose="full"), "runtime").splitlines()[-1]
    assert line == (
        "Runtime: agent=main | model=anthropic/claude-opus-4-6 | channel=telegram | capabilities=none | thinking=low"
        " | reasoning=off | verbose=full | repo=/ws"
    )
    assert text(facts(**EVERYTHING), "worker") == "[Runtime: host=worker-1 | os=linux]"
    assert text(facts(), "runtime").endswith("\nRuntime: agent=main | thinking=off | reasoning=off | verbose=off")
    assert "reasoning is shown" in text(facts(reasoning="stream"), "runtime")


def test_the_prompt_names_the_timezone_but_not_the_time() -> None:
    assert "Asia/Shanghai" in text(facts(timezone="Asia/Shanghai"), "time")
