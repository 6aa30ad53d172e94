"""Plugins are found, imported and limited; one that fails costs nothing but itself."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import openclaw_workers
from openclaw_workers import hooks, plugin_imports
from openclaw_workers.agent.tool_runner import ToolOutcome, run_call
from openclaw_workers.config.plugins import PluginsSettings
from openclaw_workers.domain.transcript import ToolCallBlock
from openclaw_workers.hooks import HOOKS, Hooks
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.catalog import ToolCatalog, reserved_names
from openclaw_workers.tools.plugins.load import Plugins, load_plugins
from tests.support.waiting import eventually

GOOD = '''
import asyncio, os, threading
from openclaw_workers import CallContext, ToolError, tool

gate = threading.Event()

@tool
def hello(name: str) -> str:
    """Say hello."""
    return f"hello {name}"

@tool
def held(ctx: CallContext) -> str:
    """Wait until it is released."""
    gate.wait(60)
    return "released"

@tool(timeout_seconds=0.2)
async def sleeps() -> None:
    """Sleep."""
    await asyncio.sleep(60)

@tool
async def loop_of() -> int:
    """Which loop runs it."""
    return id(asyncio.get_running_loop())

@tool
def exits() -> None:
    """Leave."""
    raise SystemExit(3)

@tool
def breaks() -> None:
    """Break."""
    raise KeyError("x")

@tool(max_output_bytes=2000, untrusted=True)
def long() -> str:
    """Say much."""
    return "x" * 100_000

@tool
def much() -> list[int]:
    """Count."""
    return list(range(100_000))

@tool
def read(x: int) -> int:
    """A name that is taken."""
    return x
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for modules, which no other test sees."""
    known, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def loaded(folder: Path, **settings: Any) -> Plugins:
    return load_plugins(PluginsSettings.model_validate({"paths": [str(folder)], **settings}), reserved_names())


def call(plugins: Plugins, context: ToolContext, name: str, /, **arguments: Any) -> ToolOutcome:
    tools = {tool.name: tool for tool in plugins.tools}
    return run_call(ToolCallBlock(id="call_1", name=name, arguments=arguments), tools, context)


def test_modules_of_the_configuration_are_loaded_and_their_tools_offered(folder: Path, context: ToolContext) -> None:
    (folder / "good_one.py").write_text(GOOD)

    plugins = loaded(folder, modules="good_one")

    (report,) = plugins.report()
    assert (report["plugin"], report["origin"], report["state"]) == ("good_one", "module good_one", "loaded")
    assert report["problems"] == [
        "its tool read is left out: another tool has this name; rename it with @tool(name=...)"
    ]
    assert call(plugins, context, "hello", name="you").plain == "hello you"
    assert "hello" in {tool.name for tool in ToolCatalog(plugins).tools()}


def test_a_plugin_that_cannot_be_imported_is_reported_and_the_others_load(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_imports, "IMPORT_SECONDS", 5)
    (folder / "good_two.py").write_text(GOOD)
    (folder / "fails.py").write_text("raise ValueError('not today')")
    (folder / "leaves.py").write_text("import sys; sys.exit(1)")
    (folder / "hangs.py").write_text("import threading; threading.Event().wait(60)")
    (folder / "untyped.py").write_text(
        "from openclaw_workers import tool\n@tool\ndef f(x):\n    '''Do it.'''\n    return x\n"
    )

    plugins = loaded(folder, modules=["fails", "leaves", "hangs", "untyped", "no_such_module", "good_two"])

    problems = {each["plugin"]: (each["state"], *each["problems"]) for each in plugins.report()}
    assert problems["fails"] == ("failed", "ValueError: not today")
    assert problems["leaves"] == ("failed", "SystemExit: 1")
    assert problems["hangs"] == ("failed", "it was not imported within 5 seconds")
    assert problems["untyped"][1].startswith("TypeError: tool f: parameter x has no type")
    assert problems["no_such_module"][1].startswith("ModuleNotFoundError")
    assert problems["good_two"][0] == "loaded"


def install(folder: Path, name: str, entry: str, code: str) -> None:
    """Install a package as pip does: a module, and metadata with its entry point."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (folder / f"{name}_module.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[openclaw_workers.plugins]\n{name} = {name}_module{entry}\n")


def test_installed_packages_are_found_by_their_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from openclaw_workers import tool\n@tool\ndef {name}(x: int) -> int:\n    '''Do it.'''\n    return x\n"
    install(folder, "alpha", "", code.format(name="first"))
    install(folder, "beta", ":second", code.format(name="second"))
    install(folder, "gamma", ":listed", code.format(name="third") + "listed = [third]\n")
    install(folder, "delta", "", "raise ValueError('no')")
    monkeypatch.syspath_prepend(str(folder))

    report = {each["plugin"]: each for each in loaded(folder).report()}

    assert {name: report[name]["tools"] for name in ("alpha", "beta", "gamma", "delta")} == {
        "alpha": ["first"],
        "beta": ["second"],
        "gamma": ["third"],
        "delta": [],
    }
    assert (report["alpha"]["origin"], report["delta"]["state"]) == ("alpha 1.2", "failed")


HOOKING = """
from openclaw_workers import hook

@hook("session_start")
def started(event):
    event["heard"].append("module")

class Listener:
    def session_start(self, event):
        raise RuntimeError("it is heard of, and does no harm")

listener = Listener()
"""


def test_hooks_come_with_the_import_and_not_from_denied_plugins(
    folder: Path, monkeypatch: pytest.MonkeyPatch, no_hooks: None
) -> None:
    (folder / "hooking.py").write_text(HOOKING)
    install(folder, "listening", ":listener", HOOKING.replace("session_start", "session_end"))
    monkeypatch.syspath_prepend(str(folder))

    loaded(folder, modules="hooking", deny=["hooking", "listening"])
    assert not any(Hooks().is_used(name) for name in HOOKS)

    for _ in range(2):  # once for tools, once for hooks
        loaded(folder, modules="hooking")
    assert [Hooks().is_used(name) for name in ("session_start", "session_end", "agent_end")] == [True, True, False]
    assert len(hooks._registry.of("session_end")) == 2


def test_plugins_can_be_denied_one_by_one_or_all(folder: Path) -> None:
    (folder / "good_three.py").write_text(GOOD)

    denied = loaded(folder, modules="good_three", deny="good_three").report()

    assert [(each["plugin"], each["state"]) for each in denied] == [("good_three", "denied")]
    assert "good_three" not in sys.modules
    assert loaded(folder, modules="good_three", enabled=False).report() == []


def test_a_call_ends_when_its_time_is_up_and_no_more_are_started_than_can_be_borne(
    folder: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "good_four.py").write_text(GOOD)
    plugins = loaded(folder, modules="good_four", timeoutSeconds=1)
    monkeypatch.setattr("openclaw_workers.tools.plugins.plugin_tool.MOST_OVERDUE", 1)

    late, refused = call(plugins, context, "held"), call(plugins, context, "held")
    sys.modules["good_four"].gate.set()

    assert (late.failed, late.text) == (True, "held did not answer within 1 seconds")
    assert refused.text == "held is still busy with 1 earlier calls whose time was up"
    eventually(lambda: call(plugins, context, "held").plain == "released", within=20)


def test_async_tools_share_a_loop_and_are_cancelled_in_time(folder: Path, context: ToolContext) -> None:
    (folder / "good_five.py").write_text(GOOD)
    plugins = loaded(folder, modules="good_five")

    assert call(plugins, context, "sleeps").text == "sleeps did not answer within 0.2 seconds"
    loops = {call(plugins, context, "loop_of").plain for _ in range(3)}
    assert len(loops) == 1
    assert sum(thread.name == "ocw-plugins" for thread in threading.enumerate()) >= 1


def test_a_tool_that_breaks_or_wants_to_exit_is_a_failed_call(folder: Path, context: ToolContext) -> None:
    (folder / "good_six.py").write_text(GOOD)
    plugins = loaded(folder, modules="good_six")

    assert call(plugins, context, "exits").text == "exits ended with SystemExit: 3"
    assert "KeyError" in call(plugins, context, "breaks").text
    assert "name: Field required" in call(plugins, context, "hello").text


def test_answers_are_limited_by_the_tool_or_by_the_configuration(folder: Path, context: ToolContext) -> None:
    (folder / "good_seven.py").write_text(GOOD)
    plugins = loaded(folder, modules="good_seven", maxOutput="3kb")

    long, much = call(plugins, context, "long"), call(plugins, context, "much")

    assert len(long.output) < 5_000
    assert long.source == "tool long"
    assert len(much.text) < 6_000
    assert "bytes left out here" in much.text


def test_the_package_stays_light() -> None:
    code = "import sys, openclaw_workers; assert not {'pydantic', 'celery', 'redis'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="nothing"):
        _ = openclaw_workers.nothing
