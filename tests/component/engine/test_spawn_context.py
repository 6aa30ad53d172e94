"""What a child starts with: its directory, a forked conversation, attachments, and its prompt."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.prompt.texts import SPAWNED_WITHOUT_FORK
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import (
    CompactionEntry,
    TextBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
    dump_entry,
)
from openclaw_workers.engine.tree.child import MOST_FORKED_TOKENS
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.errors import ToolError
from openclaw_workers.store.reader import PAGE, Reader
from openclaw_workers.tools.sessions.spawn import SessionsSpawn
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.spawn_steps import nested
from tests.component.engine.tree_builder import (
    ask,
    child,
    children,
    first_turn,
    reread,
    row,
    settle,
)
from tests.support.programs import call, program, say, spawn, write


def test_a_child_works_in_its_parents_directory_or_inside_it(engine: EngineHarness) -> None:
    task = program(call(write("made.txt", "x")), say("made"))
    ask(engine, task=task, workspaceDir="part")
    engine.work()
    assert (engine.loaded.state_dir / "workspace" / "part" / "made.txt").read_text() == "x"


def test_a_grandchild_inherits_the_directory_its_parent_was_given(engine: EngineHarness) -> None:
    leaf = program(call(write("deep.txt", "x")), say("made"))
    ask(engine, task=program(spawn(leaf), say("waiting"), say("done")), workspaceDir="part")
    settle(engine)
    assert (engine.loaded.state_dir / "workspace" / "part" / "deep.txt").exists()


def test_a_fork_begins_with_the_conversation_and_without_the_message_that_spawns(engine: EngineHarness) -> None:
    engine.say("remember: the word is plum")
    engine.work()

    answer = ask(engine, context="fork")

    assert SPAWNED_WITHOUT_FORK not in answer["note"]
    run = child(engine)
    assert row(engine, run.session_key)["forkedFromParent"] == "true"
    entries = engine.log(run.session_key)
    assert [entry.role for entry in entries] == ["user", "assistant", "user"]
    engine.work()
    assert reread(engine, run).state is RunState.OK
    assert [entry.role for entry in engine.log(run.session_key)][3:] == ["user", "assistant"]


def test_a_fork_of_a_compacted_conversation_begins_with_its_summary(engine: EngineHarness) -> None:
    """What the parent itself no longer sees counts for nothing."""
    engine.say("hello")
    engine.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    summed_up = CompactionEntry(summary="they greeted each other")
    engine.stores.redis.rpush(engine.stores.keys.log(SESSION), dump_entry(long), dump_entry(summed_up))

    answer = ask(engine, context="fork")

    assert SPAWNED_WITHOUT_FORK not in answer["note"]
    log = engine.log(child(engine).session_key)
    assert [entry.role for entry in log] == ["compaction", "user"]


def test_a_fork_reads_no_further_back_than_could_be_handed_on(
    engine: EngineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transcript of a busy session is far longer than what any model is shown of it."""
    engine.say("hello")
    engine.work()
    log = engine.stores.keys.log(SESSION)
    part = dump_entry(UserEntry(content=[TextBlock(text="word " * (MOST_FORKED_TOKENS // 50))]))
    engine.stores.redis.lpush(log, *[part] * 4 * PAGE)
    read, transcript = [], Reader.transcript

    def noted(reader: Reader, *args: Any) -> list[TranscriptEntry]:
        entries = transcript(reader, *args)
        read.append(len(entries))
        return entries

    monkeypatch.setattr(Reader, "transcript", noted)
    answer = ask(engine, context="fork")

    assert answer["note"].startswith(SPAWNED_WITHOUT_FORK)
    *read, _ = read  # the last look is our own
    assert sum(read) <= 2 * PAGE


def test_a_conversation_too_long_to_fork_is_left_out_and_the_answer_says_so(engine: EngineHarness) -> None:
    engine.say("hello")
    engine.work()
    long = UserEntry(content=[TextBlock(text="word " * MOST_FORKED_TOKENS * 2)])
    engine.stores.redis.lpush(engine.stores.keys.log(SESSION), dump_entry(long))

    answer = ask(engine, context="fork")

    assert answer["note"].startswith(SPAWNED_WITHOUT_FORK)
    run = child(engine)
    assert row(engine, run.session_key)["forkedFromParent"] == "false"
    assert engine.log(run.session_key) == []


def attached(name: str, content: bytes) -> dict[str, str]:
    return {"name": name, "content": base64.b64encode(content).decode()}


def test_attachments_are_there_when_the_child_works_under_names_that_are_safe(engine: EngineHarness) -> None:
    files = [attached("../../notes.txt", b"one"), attached(".hidden", b"two"), attached("..", b"three")]
    ask(engine, attachments=files)
    run = child(engine)
    folder = engine.loaded.state_dir / "workspace" / files_dir(run.session_key)
    assert not folder.exists(), "they are written by whoever runs the child"

    engine.work()

    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert found == {"1-notes.txt": b"one", "2-hidden": b"two", "3-file": b"three"}
    (task,) = [entry for entry in engine.log(run.session_key) if entry.role == "user"]
    assert f"{files_dir(run.session_key)}/1-notes.txt" in task.content[0].text


def test_a_link_that_leads_out_of_the_workspace_gets_no_files(engine: EngineHarness, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    workspace = engine.loaded.state_dir / "workspace"
    workspace.mkdir(parents=True)
    (workspace / ".openclaw").symlink_to(tmp_path / "outside")
    ask(engine, attachments=[{"name": "notes.txt", "content": "aGk="}])
    settle(engine)

    assert list((tmp_path / "outside").iterdir()) == []
    assert child(engine).state is RunState.OK


def test_base64_may_be_written_in_lines(engine: EngineHarness) -> None:
    lines = base64.encodebytes(b"x" * 200).decode()
    answer = ask(engine, attachments=[{"name": "notes.txt", "content": lines}])
    settle(engine)

    folder = engine.loaded.state_dir / "workspace" / files_dir(answer["childSessionKey"])
    assert (folder / "1-notes.txt").read_bytes() == b"x" * 200


@pytest.mark.parametrize(
    ("more", "workspace"), [({"workspaceDir": "part"}, "workspace/part"), ({"agentId": "b"}, "workspace-b")]
)
def test_attachments_lie_where_the_child_works(make_engine: MakeEngine, more: dict[str, str], workspace: str) -> None:
    agents = [{"id": "main", "subagents": {"allowAgents": ["b"]}}, {"id": "b"}]
    engine = make_engine({"agents": {"list": agents}})
    look = call({"tool": "exec", "input": {"command": "cat .openclaw/attachments/*/1-data.txt"}})
    ask(engine, task=program(look, say("seen")), attachments=[attached("data.txt", b"one")], **more)
    (run,) = children(engine)

    engine.work()

    assert (engine.loaded.state_dir / workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() == b"one"
    result = engine.log(run.session_key)[2]
    assert isinstance(result, ToolResultEntry)
    assert "one\n[exit code 0]" in result.content[0].text


def test_two_children_with_files_of_one_name_get_their_own(engine: EngineHarness) -> None:
    calls = [
        {"tool": "sessions_spawn", "input": {"task": "x", "attachments": [attached("data.txt", content)]}}
        for content in (b"first", b"second")
    ]
    first_turn(engine, call(*calls))
    engine.work()

    workspace = engine.loaded.state_dir / "workspace"
    read = [(workspace / files_dir(run.session_key) / "1-data.txt").read_bytes() for run in children(engine)]
    assert read == [b"first", b"second"]


@pytest.mark.parametrize(
    ("files", "reported"),
    [([attached("a", b"x" * 1_000_001)], "1,000,000"), ([attached("a", b"x" * 1_000_000)] * 6, "5,000,000")],
    ids=["one too large", "too much in all"],
)
def test_attachments_have_limits(files: list[dict[str, str]], reported: str) -> None:
    with pytest.raises(ToolError, match=reported):
        SessionsSpawn().parse({"task": "x", "attachments": files})


def test_a_child_learns_that_it_is_a_background_task_and_for_whom(engine: EngineHarness) -> None:
    ask(engine, task="count to three")
    run = child(engine)
    engine.work()

    (task,) = [entry for entry in engine.log(run.session_key) if entry.role == "user"]
    reported = task.content[0].text
    assert reported.startswith("[Subagent Context] You are a sub-agent at depth 1 of 2")
    assert SESSION in reported
    assert reported.endswith("[Subagent Task]\ncount to three")


def test_a_child_learns_that_its_last_answer_goes_back_by_itself_and_to_whom(engine: EngineHarness) -> None:
    nested(engine)
    engine.work()

    middle = child(engine).session_key
    leaf = child(engine, middle).session_key
    for session, who in ((middle, f"the main agent ({SESSION})"), (leaf, f"another sub-agent ({middle})")):
        task = next(entry for entry in engine.log(session) if isinstance(entry, UserEntry))
        assert f"for {who}. Your last answer goes back to it by itself;" in task.content[0].text


def test_children_have_a_minimal_prompt_and_their_tools_by_depth(engine: EngineHarness) -> None:
    prompts, tools = {}, {}
    nested(engine)
    middle = child(engine)
    (leaf,) = children(engine, middle.session_key)
    for name, session in (("root", SESSION), ("middle", middle.session_key), ("leaf", leaf.session_key)):
        if session == SESSION:
            engine.say("hello", session)
        elif session == middle.session_key:
            engine.say("hello", session, route=CLI)
        engine.waker.turns.clear()
        run = engine.stores.reader.control(session).run
        assert run is not None
        lane = Lane.MAIN if session == SESSION else Lane.SUBAGENT
        freshness = engine.built.resets.times(session)
        taken = engine.turns.take(
            session, RunId(run), lane, nonce="n", time_ms=60_000, freshness=freshness, may_suspect=True
        )
        setup = engine.built.preparer.prepare(taken, []).setup  # type: ignore[arg-type]
        prompts[name], tools[name] = setup.system, set(setup.tools)

    assert "personal assistant" in prompts["root"]
    assert "background task" in prompts["middle"]
    assert "background task" in prompts["leaf"]
    assert "personal assistant" not in prompts["leaf"]
    assert "Your last answer goes back to whoever started you, by itself." in prompts["leaf"]
    assert "sessions_spawn" in tools["root"] & tools["middle"]
    assert "sessions_spawn" not in tools["leaf"]
    assert "## Sub-agents" not in prompts["leaf"]
