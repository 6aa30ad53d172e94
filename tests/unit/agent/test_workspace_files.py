"""Workspace files in the prompt: which, how much of them, and what can be seen of the cuts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw_workers.agent.prompt.sections import PromptFacts, join, prompt_parts
from openclaw_workers.agent.prompt.workspace_files import FULL, MAX_FILE_BYTES, MINIMAL, file_names, load, signature
from openclaw_workers.domain.tree import Role


def put(workspace: Path, **files: str) -> None:
    for name, text in files.items():
        (workspace / f"{name}.md").write_text(text)


def test_existing_files_are_loaded_in_a_fixed_order(tmp_path: Path) -> None:
    put(tmp_path, SOUL="be kind", AGENTS="work well", CLAUDE="rules", USER="  \n ", OTHER="not ours")
    assert [(file.name, file.text) for file in load(tmp_path)] == [
        ("AGENTS.md", "work well"),
        ("SOUL.md", "be kind"),
        ("CLAUDE.md", "rules"),
    ]
    assert load(tmp_path / "missing") == []


@pytest.mark.parametrize(
    "name",
    [
        "AGENTS.md",
        "SOUL.md",
        "TOOLS.md",
        "IDENTITY.md",
        "USER.md",
        "HEARTBEAT.md",
        "BOOTSTRAP.md",
        "MEMORY.md",
        "memory.md",
        "CLAUDE.md",
    ],
)
def test_the_main_conversation_gets_all_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("what it says")
    files = load(tmp_path, file_names(None, Role.MAIN))
    facts = PromptFacts(agent_id="main", agent_name="Claw", workspace=tmp_path, specs=[], files=files)
    assert f"## {name}\n\nwhat it says" in join(prompt_parts(facts))


def test_a_sub_agent_does_not_get_private_files(tmp_path: Path) -> None:
    put(tmp_path, **{name.removesuffix(".md"): name for name in FULL if name != "memory.md"})
    assert [file.name for file in load(tmp_path, MINIMAL)] == list(MINIMAL)
    assert "MEMORY.md" not in MINIMAL


def test_a_minimal_prompt_has_files_only_for_children_whose_settings_say_so() -> None:
    assert file_names(None, Role.LEAF) == ()
    assert file_names("minimal", Role.MAIN) == ()
    assert file_names("minimal", Role.MAIN, for_children=True) == ()
    assert file_names(None, Role.ORCHESTRATOR, for_children=True) == MINIMAL
    assert file_names("full", Role.LEAF) == MINIMAL
    assert file_names("none", Role.LEAF, for_children=True) == ()
    assert "USER.md" not in file_names(None, Role.LEAF, is_private=False, for_children=True)


def test_a_long_file_shows_its_start_and_its_end_and_how_long_it_is(tmp_path: Path) -> None:
    put(tmp_path, AGENTS="a" * 20_000 + "z" * 10_000)
    (file,) = load(tmp_path)
    assert file.text.startswith("a" * 13_000)
    assert file.text.endswith("z" * 3_900)
    assert "AGENTS.md is cut here" in file.text
    assert "30,000 characters" in file.text
    assert len(file.text) <= 20_000
    assert file.chars == 30_000


def test_files_that_no_longer_fit_are_named(tmp_path: Path) -> None:
    put(tmp_path, AGENTS="a" * 900, SOUL="b" * 900, TOOLS="c" * 900, USER="d" * 900)
    files = load(tmp_path, max_chars=800, total_max_chars=1000)
    assert [file.name for file in files] == ["AGENTS.md", "More files"]
    assert "SOUL.md, TOOLS.md, USER.md" in files[-1].text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.dictionaries(st.sampled_from(["AGENTS", "SOUL", "USER"]), st.integers(0, 3000)), st.integers(300, 2000))
def test_the_limits_hold(tmp_path: Path, sizes: dict[str, int], total: int) -> None:
    for name in ("AGENTS", "SOUL", "USER"):
        (tmp_path / f"{name}.md").write_text("x" * sizes.get(name, 0))
    files = [file for file in load(tmp_path, max_chars=700, total_max_chars=total) if file.name != "More files"]
    assert all(len(file.text) <= 700 for file in files)
    assert sum(len(file.text) for file in files) <= total


def test_a_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, AGENTS="work well")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert [file.name for file in load(tmp_path)] == ["AGENTS.md"]


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    workspace, secret = tmp_path / "ws", tmp_path / "secret"
    workspace.mkdir()
    secret.write_text("key")
    (workspace / "AGENTS.md").symlink_to(secret)
    assert load(workspace) == []


def test_a_pipe_does_not_block_a_turn(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    (tmp_path / "SOUL.md").mkdir()
    assert load(tmp_path) == []


def test_a_huge_or_damaged_file_is_replaced_by_a_note(tmp_path: Path) -> None:
    with (tmp_path / "AGENTS.md").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    (tmp_path / "SOUL.md").write_bytes(b"\xef\xbb\xbfkind \xff")
    agents, soul = load(tmp_path)
    assert "not shown" in agents.text
    assert soul.text == "kind \ufffd"


@pytest.mark.parametrize("change", ["new text", ""])
def test_the_signature_changes_with_the_files(tmp_path: Path, change: str) -> None:
    put(tmp_path, AGENTS="text")
    before = signature(tmp_path)
    assert signature(tmp_path) == before
    if change:
        put(tmp_path, AGENTS=change)
    else:
        (tmp_path / "AGENTS.md").unlink()
    assert signature(tmp_path) != before
