"""Skills in turns: listed in the prompt, read from where they are, kept in the row, given what they need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.transcript import ToolResultEntry, UserEntry
from openclaw_workers.errors import BadInput
from openclaw_workers.tools.plugins.load import load_plugins
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import ask, system
from tests.component.engine.tree_builder import settle
from tests.component.skills.conftest import put
from tests.support.programs import as_text, call, execute, program, say, spawn
from tests.support.wire import Called, Reply, WireServer

WATCHED = {"load": {"watchDebounceMs": 0}, "allowBundled": []}
OTHER = SessionKey("agent:other:main")
AGENTS = [{"id": "main", "default": True}, {"id": "other"}]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    return folder


def wired(make: MakeEngine, server: WireServer, **skills: Any) -> EngineHarness:
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "models": [{"id": "m"}]}
    config = {"models": {"providers": {"wire": provider}}, "agents": {"defaults": {"model": "wire/m"}, "list": AGENTS}}
    return make({**config, "skills": {**WATCHED, **skills}})


def scripted(make: MakeEngine, **skills: Any) -> EngineHarness:
    return make({"skills": {**WATCHED, **skills}, "agents": {"list": AGENTS}})


def workspace(engine: EngineHarness, agent: str = "main") -> Path:
    return engine.built.agents.workspace(agent)


def use(engine: EngineHarness, *steps: Any, session: SessionKey = SESSION) -> list[str]:
    """Run a program and return the results of its calls."""
    engine.say(as_text(program(*steps, say("done"))), session)
    engine.work()
    return [entry.text for entry in engine.log(session) if isinstance(entry, ToolResultEntry)]


def written(engine: EngineHarness) -> list[str]:
    """What the user's messages became."""
    return [entry.content[0].text for entry in engine.log() if isinstance(entry, UserEntry)]


def read(path: Path | str) -> Any:
    return call({"tool": "read", "input": {"path": str(path)}})


def test_skills_are_listed_in_the_prompt_and_a_change_is_seen_by_the_next_turn(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine = wired(make_engine, server)
    server.script += [Reply("one"), Reply("two")]
    ask(engine, "first")
    put(workspace(engine) / "skills", "notes", "Keep notes.")
    ask(engine, "second")

    before, after = (system(request)[0] for request in server.requests)
    assert "<available_skills>" not in before
    assert "## Skills (mandatory)" in after
    assert "Relative paths in a skill file" in after
    assert "<location>skills/notes/SKILL.md</location>" in after


def test_a_subagent_has_none(make_engine: MakeEngine, server: WireServer) -> None:
    engine = wired(make_engine, server)
    put(workspace(engine) / "skills", "notes")
    server.script += [
        Reply(calls=[Called("sessions_spawn", {"task": "go"})]),
        Reply("started"),
        Reply("child"),
        Reply("ok"),
    ]
    engine.say("spawn")
    settle(engine)
    prompts = [system(request)[0] for request in server.requests]
    assert sorted("<available_skills>" in prompt for prompt in prompts) == [False, True, True, True]


def test_a_skill_outside_the_workspace_is_read_and_followed_but_nothing_beside_it(
    make_engine: MakeEngine, home: Path
) -> None:
    engine = scripted(make_engine)
    shared = put(engine.loaded.state_dir / "skills", "shared", "d", "")
    (shared.parent / "more.txt").write_text("details")
    (shared.parent.parent / "beside.txt").write_text("private")
    personal = put(home / ".agents" / "skills", "personal")
    (shared.parent / "out").symlink_to(shared.parent.parent / "beside.txt")

    main, more, tilde, beside, out = use(
        engine,
        read(shared),
        read(shared.parent / "more.txt"),
        read("~/.agents/skills/personal/SKILL.md"),
        read(shared.parent.parent / "beside.txt"),
        read(shared.parent / "out"),
    )
    assert main == shared.read_text().rstrip("\n"), "instructions are not quoted as untrusted"
    assert "details" in more
    assert "UNTRUSTED_TEXT" in more
    assert tilde == personal.read_text().rstrip("\n")
    assert "outside the workspace" in beside
    assert "outside the workspace" in out


@pytest.mark.parametrize("access", ["none", "ro", "rw"])
def test_a_sandboxed_session_reads_its_skills_too_and_nothing_beside_them(make_engine: MakeEngine, access: str) -> None:
    sandbox = {"mode": "all", "workspaceAccess": access}
    engine = make_engine({"skills": WATCHED, "agents": {"defaults": {"sandbox": sandbox}, "list": AGENTS}})
    shared = put(engine.loaded.state_dir / "skills", "shared")
    (shared.parent.parent / "beside.txt").write_text("private")
    main, beside = use(engine, read(shared), read(shared.parent.parent / "beside.txt"))
    assert main == shared.read_text().rstrip("\n")
    assert "private" not in beside


def test_folders_of_skills_cannot_be_written(make_engine: MakeEngine) -> None:
    engine = scripted(make_engine)
    path = put(engine.loaded.state_dir / "skills", "shared")
    before = path.read_text()
    (result,) = use(engine, call({"tool": "write", "input": {"path": str(path), "content": "changed"}}))
    assert "outside the workspace" in result
    assert path.read_text() == before


def test_an_agent_can_read_only_its_own_skills(make_engine: MakeEngine) -> None:
    engine = scripted(make_engine)
    private = put(engine.loaded.state_dir / "agents" / "main" / "skills", "private")
    assert "# private" in use(engine, read(private))[0]
    assert "outside the workspace" in use(engine, read(private), session=OTHER)[0]


def test_the_row_keeps_what_the_turn_had_and_context_detail_shows_it(make_engine: MakeEngine) -> None:
    metadata = 'metadata: {"openclaw": {"primaryEnv": "NOTES_KEY"}}\n'
    engine = scripted(make_engine, entries={"notes": {"apiKey": "very-secret"}})
    put(workspace(engine) / "skills", "notes", "Keep notes.", metadata)
    use(engine)

    row = engine.stores.reader.session(SESSION)
    assert row is not None
    assert row.skills_snapshot is not None
    assert "<name>notes</name>" in row.skills_snapshot.prompt
    assert [skill.name for skill in row.skills_snapshot.skills] == ["notes"]
    assert row.skills_snapshot.resolved_skills == [
        {"name": "notes", "filePath": "skills/notes/SKILL.md", "source": "workspace"}
    ]
    version = row.skills_snapshot.version
    shown = engine.intake.accept("/context detail", session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(shown, Answered)
    assert f"version {version}" in shown.text
    assert "notes: skills/notes/SKILL.md (workspace, key in NOTES_KEY)" in shown.text
    assert "very-secret" not in json.dumps(engine.stores.redis.hgetall(engine.stores.keys.row(SESSION)))

    put(workspace(engine) / "skills", "more")
    use(engine)
    row = engine.stores.reader.session(SESSION)
    assert row is not None
    assert row.skills_snapshot is not None
    assert row.skills_snapshot.version != version


def test_variables_of_a_skill_are_given_to_commands_of_its_agent_alone(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_TOKEN", "of-the-worker")
    entries = {"notes": {"apiKey": "very-secret", "env": {"REGION": "north"}}}
    engine = scripted(make_engine, entries=entries)
    metadata = 'metadata: {"openclaw": {"primaryEnv": "NOTES_KEY", "requires": {"env": ["NOTES_KEY"]}}}\n'
    put(workspace(engine) / "skills", "notes", "d", metadata)
    asks = 'metadata: {"openclaw": {"requires": {"env": ["OWN_TOKEN"]}}}\n'
    put(workspace(engine) / "skills", "greedy", "d", asks)
    show = call(execute('echo "[${#NOTES_KEY}|$REGION|$OWN_TOKEN]"'))  # its length: a key itself is masked

    assert "[11|north|]" in use(engine, show)[0]
    assert "[0||]" in use(engine, show, session=OTHER)[0]
    nested = spawn(program(show, say("child")))
    engine.say(as_text(program(nested, say("parent"))))
    settle(engine)
    child = next(row.session_key for row in engine.stores.reader.sessions() if "subagent" in row.session_key)
    assert "[0||]" in next(entry.text for entry in engine.log(child) if isinstance(entry, ToolResultEntry))


def test_a_slash_command_asks_for_a_skill(make_engine: MakeEngine, server: WireServer) -> None:
    engine = wired(make_engine, server)
    put(workspace(engine) / "skills", "code-review", "Review code.")
    engine.built.skill_publisher.publish()
    server.script += [Reply("a"), Reply("b"), Reply("c")]
    ask(engine, "/code-review the last commit")
    ask(engine, "/code_review")
    ask(engine, "/skill code-review again")

    assert written(engine) == [
        'Use the "code-review" skill for this request.\n\nUser input:\nthe last commit',
        'Use the "code-review" skill for this request.',
        'Use the "code-review" skill for this request.\n\nUser input:\nagain',
    ]
    listed = engine.intake.accept("/help", session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(listed, Answered)
    assert "/code_review [input]" in listed.text


def test_unknown_skills_and_commands_are_refused_with_the_nearest_name(make_engine: MakeEngine) -> None:
    engine = scripted(make_engine)
    put(workspace(engine) / "skills", "weather")
    engine.built.skill_publisher.publish()
    with pytest.raises(BadInput) as raised:
        engine.say("/wether")
    assert "did you mean /weather?" in str(raised.value.hint)
    with pytest.raises(BadInput, match="no skill 'wether'"):
        engine.say("/skill wether in Bergen")


def test_a_stranger_cannot_ask_for_a_skill(make_engine: MakeEngine, server: WireServer) -> None:
    engine = wired(make_engine, server)
    put(workspace(engine) / "skills", "weather")
    engine.built.skill_publisher.publish()
    server.script += [Reply("no")]
    ask(engine, "/weather in Bergen", authority=Authority.ANYONE)
    (said,) = written(engine)
    assert "/weather in Bergen" in said
    assert "Use the" not in said


def test_a_command_may_call_a_tool_without_the_model(make_engine: MakeEngine, server: WireServer) -> None:
    engine = wired(make_engine, server)
    put(workspace(engine) / "skills", "run", "Run it.", "command-dispatch: tool\ncommand-tool: exec\n")
    engine.built.skill_publisher.publish()
    run = ask(engine, "/run echo from-$((40 + 2))")

    assert "from-42" in str(run.text)
    assert "UNTRUSTED" not in str(run.text)
    assert server.requests == []
    server.script += [Reply("I saw it")]
    ask(engine, "what was that?")
    assert "from-42" in json.dumps(server.requests[0].body)
    assert [request.problems for request in server.requests if request.problems] == []


def test_a_tool_that_the_turn_does_not_have_is_not_called_by_a_command(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine = wired(make_engine, server)
    put(workspace(engine) / "skills", "run", "Run it.", "command-dispatch: tool\ncommand-tool: no_such_tool\n")
    engine.built.skill_publisher.publish()
    server.script += [Reply("the model answers")]
    assert ask(engine, "/run it").text == "the model answers"


def test_settings_of_skills_reach_the_prompt(make_engine: MakeEngine, server: WireServer, tmp_path: Path) -> None:
    put(tmp_path / "extra", "wanted")
    put(tmp_path / "extra", "unwanted")
    put(
        tmp_path / "extra",
        "demanding",
        more='metadata: {"openclaw": {"requires": {"config": ["skills.entries.demanding.config.x"]}}}\n',
    )
    entries = {"unwanted": {"enabled": False}, "demanding": {"config": {"x": 1}}}
    engine = wired(make_engine, server, entries=entries, load={"extraDirs": [str(tmp_path / "extra")]})
    server.script += [Reply("ok")]
    ask(engine, "hello")
    prompt = system(server.requests[0])[0]
    assert "<name>wanted</name>" in prompt
    assert "<name>demanding</name>" in prompt
    assert "unwanted" not in prompt
    assert "<name>reporter</name>" not in prompt, "no bundled skill is allowed"


def test_bundled_skills_are_offered_and_an_agent_may_name_those_it_wants(
    make_engine: MakeEngine, server: WireServer
) -> None:
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "models": [{"id": "m"}]}
    few = {"id": "few", "skills": ["reporter"]}
    agents = {"defaults": {"model": "wire/m"}, "list": [{"id": "main", "default": True}, few]}
    engine = make_engine({"models": {"providers": {"wire": provider}}, "agents": agents})
    server.script += [Reply("one"), Reply("two")]
    ask(engine, "hello")
    ask(engine, "hello", session=SessionKey("agent:few:main"))
    first, second = (system(request)[0] for request in server.requests)
    assert "<name>skill-writer</name>" in first
    assert "<name>reporter</name>" in second
    assert "skill-writer" not in second


def test_a_plugin_brings_skills(make_engine: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "pkg" / "acme_skills_plugin" / "skills", "of-plugin")
    (tmp_path / "pkg" / "acme_skills_plugin" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "pkg"))
    engine = scripted(make_engine)
    plugins = load_plugins(PluginsSettings(modules=("acme_skills_plugin",)), ())
    built = replace(engine.built, plugins=plugins)
    assert "<name>of-plugin</name>" in built.frames.default("main").setup.system
