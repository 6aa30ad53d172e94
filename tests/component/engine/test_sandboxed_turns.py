"""A sandboxed session from the configuration to what its tools do and its prompt says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.errors import BadInput
from openclaw_workers.sandbox.bubblewrap import Bubblewrap
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import ask, system
from tests.component.engine.session_steps import text
from tests.component.engine.test_turn_runner import program
from tests.support.programs import call, execute, say
from tests.support.wire import WireServer

GROUP = SessionKey("agent:main:telegram:group:-1")


def sandboxed(**settings: Any) -> dict[str, Any]:
    return {"agents": {"defaults": {"sandbox": {"mode": "all", **settings}}}}


def use(engine: EngineHarness, tool: str, session: SessionKey = SESSION, /, **arguments: Any) -> str:
    """Let a turn call a tool; what the model is told."""
    call = {"calls": [{"tool": tool, "input": arguments}]}
    engine.say(program(call, {"text": "done"}), session)
    engine.work()
    return [entry.content[0].text for entry in engine.log(session) if isinstance(entry, ToolResultEntry)][-1]


def agent_workspace(engine: EngineHarness) -> Path:
    workspace = engine.loaded.state_dir / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    return workspace


@pytest.mark.needs("bubblewrap")
def test_a_command_in_a_sandbox_gets_no_secret(make_engine: MakeEngine) -> None:
    engine = make_engine(sandboxed() | {"secrets": {"DEPLOY_KEY": {"value": "planted-1", "tools": ["exec"]}}})

    assert "[0]" in use(engine, "exec", command='echo "[${#DEPLOY_KEY}]"')


@pytest.mark.needs("bubblewrap")
def test_commands_and_file_tools_share_the_workspace_of_the_sandbox(make_engine: MakeEngine) -> None:
    engine = make_engine(sandboxed())
    (agent_workspace(engine) / "private").write_text("secret")
    assert "Wrote 5 bytes to notes/a.txt" in use(
        engine, "write", path="/sandbox/workspace/notes/a.txt", content="hello"
    )
    assert "hello" in use(
        engine, "exec", command="pwd; cat a.txt; echo more >> a.txt", workdir="/sandbox/workspace/notes"
    )
    assert "more" in use(engine, "read", path="notes/a.txt")
    assert "no such file" in use(engine, "read", path="private")
    refused = use(engine, "read", path="../../../workspace/private")
    assert "is outside the workspace /sandbox/workspace" in refused
    assert str(engine.loaded.state_dir) not in refused


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize(("session", "where"), [(SESSION, "/workspace"), (GROUP, "/sandbox/workspace")])
def test_non_main_sandboxes_all_but_the_main_session(make_engine: MakeEngine, session: SessionKey, where: str) -> None:
    engine = make_engine(sandboxed(mode="non-main"))
    assert f"{where}\n" in use(engine, "exec", session, command="pwd")


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize(("scope", "is_shared"), [("session", False), ("agent", True), ("shared", True)])
def test_the_scope_says_who_shares_a_sandbox(make_engine: MakeEngine, scope: str, is_shared: bool) -> None:
    engine = make_engine(sandboxed(scope=scope))
    use(engine, "exec", command="echo hi > mine")
    assert ("mine" in use(engine, "exec", GROUP, command="ls")) == is_shared


@pytest.mark.needs("bubblewrap")
@pytest.mark.parametrize("access", ["none", "ro", "rw"])
def test_access_to_the_agents_workspace_is_as_configured(make_engine: MakeEngine, access: str) -> None:
    engine = make_engine(sandboxed(workspaceAccess=access))
    workspace = agent_workspace(engine)
    (workspace / "plan.txt").write_text("the plan\n")
    said = use(engine, "exec", command="cat plan.txt; echo new > made; ls")
    assert ("the plan" in said) == (access != "none")
    assert (workspace / "made").exists() == (access == "rw")
    assert ("Read-only file system" in said) == (access == "ro")
    wrote = use(engine, "write", path="by-tool", content="x")
    assert ("Wrote 1 bytes" in wrote) == (access != "ro")
    assert (workspace / "by-tool").exists() == (access == "rw")


@pytest.mark.parametrize(
    ("access", "sentence"), [("none", "It is your own"), ("ro", "not change it"), ("rw", "It is the agent's")]
)
def test_the_prompt_shows_the_path_inside(
    make_engine: MakeEngine, access: str, sentence: str, server: WireServer
) -> None:
    models = {"providers": {"wire": {"baseUrl": server.url, "api": "anthropic-messages", "models": [{"id": "m"}]}}}
    config = sandboxed(workspaceAccess=access)
    config["agents"]["defaults"]["model"] = "wire/m"
    engine = make_engine({**config, "models": models})
    (agent_workspace(engine) / "AGENTS.md").write_text("Rules of the workspace.")
    ask(engine, "hello")
    reported = system(server.requests[-1])[0]
    assert "Your working directory there is /sandbox/workspace." in reported
    assert sentence in reported
    assert "Commands have no network." in reported
    assert str(engine.loaded.state_dir) not in reported
    assert ("Rules of the workspace." in reported) == (access != "none")
    offered = {each["name"] for each in server.requests[-1].body["tools"]}
    assert ("write" in offered) == (access != "ro")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def test_without_a_working_sandbox_a_command_is_refused_and_does_not_run(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bubblewrap, "_answers", {})
    monkeypatch.setenv("PATH", "/nowhere")
    engine = make_engine(sandboxed())
    said = use(engine, "exec", command="echo ran > /tmp/ocw-must-not-run")
    assert "the program bwrap is not installed. Install it with: apt-get install bubblewrap" in said
    assert "The command did not run" in said
    assert not Path("/tmp/ocw-must-not-run").exists()


def elevate(engine: EngineHarness, level: str, **more: Any) -> str:
    given = {"route": Route(channel="cli"), "authority": Authority.OWNER, "sender": "Ann", **more}
    try:
        answer = engine.intake.accept(f"/elevated {level}", session=SESSION, **given)
    except BadInput as error:
        return error.message
    assert isinstance(answer, Answered), answer
    return answer.text


@pytest.mark.needs("bubblewrap")
def test_owners_can_let_commands_run_on_the_host_where_that_is_allowed(make_engine: MakeEngine) -> None:
    allowed = {"tools": {"elevated": {"enabled": True, "allowFrom": {"cli": ["*"]}}}}
    engine = make_engine({**sandboxed(), **allowed})
    assert "/sandbox/workspace\n" in use(engine, "exec", command="pwd")
    assert "run on the host" in elevate(engine, "on")
    on_host = use(engine, "exec", command="pwd; ls -d /root")
    assert str(engine.loaded.state_dir) in on_host
    assert "/root\n" in on_host
    assert "in its sandbox" in elevate(engine, "off")
    assert "/sandbox/workspace\n" in use(engine, "exec", command="pwd")


@pytest.mark.needs("bubblewrap")
def test_full_elevation_also_asks_nobody(make_engine: MakeEngine) -> None:
    tools = {"elevated": {"enabled": True, "allowFrom": {"cli": ["*"]}}, "exec": {"ask": "always"}}
    engine = make_engine({**sandboxed(), "tools": tools})
    engine.say(text(say("hello")))  # the session exists from here on
    engine.work()

    elevate(engine, "on")
    engine.say(text(call(execute("pwd")), say("never")))
    engine.work()
    assert len(engine.stores.questions.open()) == 1, "on the host, and an owner is asked first"
    engine.control.stop_turn(SESSION)
    engine.work()

    elevate(engine, "full")
    assert str(engine.loaded.state_dir) in use(engine, "exec", command="pwd")
    assert engine.stores.questions.open() == []


@pytest.mark.needs("bubblewrap")
def test_elevated_is_off_unless_it_is_configured(make_engine: MakeEngine) -> None:
    engine = make_engine(sandboxed())
    use(engine, "exec", command="true")
    assert "elevated commands are turned off" in elevate(engine, "on")
    engine.stores.sessions.patch(SESSION, {"elevatedLevel": "full"})
    assert "/sandbox/workspace\n" in use(engine, "exec", command="pwd")
    listed = make_engine({**sandboxed(), "tools": {"elevated": {"enabled": True, "allowFrom": {"telegram": ["1"]}}}})
    assert "may not use elevated commands from cli" in elevate(listed, "full")
    assert "is not a level" in elevate(listed, "maybe")


@pytest.mark.needs("bubblewrap")
def test_an_agent_can_only_take_elevated_commands_away(make_engine: MakeEngine) -> None:
    allowed = {"tools": {"elevated": {"enabled": True, "allowFrom": {"cli": ["*"]}}}}

    def engine_with(own: dict[str, Any], everywhere: dict[str, Any] = allowed) -> EngineHarness:
        config = sandboxed()
        entry = {"id": "main", "tools": {"elevated": own}}
        return make_engine({**config, **everywhere, "agents": {**config.get("agents", {}), "list": [entry]}})

    off = engine_with({"enabled": False})
    use(off, "exec", command="true")
    assert "turned off for agent main" in elevate(off, "on")
    off.stores.sessions.patch(SESSION, {"elevatedLevel": "full"})
    assert "/sandbox/workspace\n" in use(off, "exec", command="pwd")
    assert "may not use elevated commands" in elevate(engine_with({"allowFrom": {"telegram": ["*"]}}), "on")
    assert "run on the host" in elevate(engine_with({"allowFrom": {"cli": ["*"]}}), "on")
    assert "elevated commands are turned off" in elevate(engine_with({"enabled": True}, {}), "on")


@pytest.mark.needs("bubblewrap")
def test_a_report_says_where_commands_of_a_session_run_and_what_holds_them(make_engine: MakeEngine) -> None:
    engine = make_engine(sandboxed(mode="non-main", limits={"memory": "300mb"}))
    on_host = engine.built.sandbox_reports.report(SESSION)
    assert (on_host["sandboxed"], on_host["available"]) == (False, True)
    inside = engine.built.sandbox_reports.report(GROUP)
    assert (inside["sandboxed"], inside["inside"], inside["sandbox"]) == (True, "/sandbox/workspace", "agent-main")
    assert inside["limits"]["memory"] == 300 << 20
    assert inside["heldBy"]["network"].startswith("none")


def test_a_saved_conversation_stays_in_the_directory_of_its_sandbox(make_engine: MakeEngine) -> None:
    engine = make_engine(sandboxed(mode="non-main"))
    assert engine.built.workspace_of(SESSION) == engine.loaded.state_dir / "workspace"
    assert engine.built.workspace_of(GROUP).is_relative_to(engine.loaded.state_dir / "sandboxes")
