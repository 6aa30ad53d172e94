"""Whole turns in this process: the real engine on an in-memory Redis, with the model `offline/script`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import yaml

from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.transcript import ToolResultEntry, TranscriptEntry
from openclaw_workers.engine.client_graph import intake_of
from openclaw_workers.engine.stores import stores_on
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.engine.worker_graph import WorkerEngine
from openclaw_workers.errors import BadInput
from openclaw_workers.testing.local_waker import LocalWaker
from openclaw_workers.testing.tool_calls import ToolResult
from openclaw_workers.tools.catalog import reserved_names
from openclaw_workers.tools.mcp.servers import McpServers
from openclaw_workers.tools.plugins.function_tool import FunctionTool
from openclaw_workers.tools.plugins.load import Plugins, plugin_of
from openclaw_workers.tools.plugins.plugin_tool import PluginLimits

SESSION = SessionKey("agent:main:main")
Json = dict[str, Any]
Step = str | Json | Sequence[Json]
"""One answer of the model: a text, a `call`, or several calls."""


def call(tool: str, /, **arguments: Any) -> Json:
    """A tool call, for `run_turn`."""
    return {"tool": tool, "input": arguments}


@dataclass(frozen=True, slots=True)
class Turn:
    reply: str
    """What the agent answered at the end."""
    results: Sequence[ToolResult]
    """What its tool calls returned, in their order."""
    transcript: Sequence[TranscriptEntry]
    """The whole session."""


class Engine:
    """A worker's engine with plugins, for one or several turns. Everything is gone when it is closed."""

    def __init__(
        self,
        tools: Sequence[FunctionTool[..., Any]] | ModuleType = (),
        *,
        config: Mapping[str, Any] | None = None,
        directory: Path | None = None,
    ) -> None:
        """`tools`: the tools, or a module with tools. `config`: as in openclaw.yaml. `directory`: for all its files.

        Raises:
            ConfigurationError: the configuration is not valid.
            BadInput: fakeredis is not installed, or a tool has the name of a built-in one.
        """
        self.directory = directory or Path(tempfile.mkdtemp(prefix="openclaw-test-"))
        self._redis = _memory_redis()
        self._loaded = _load(self.directory, config or {})
        self._stores = stores_on(self._redis, self._loaded.settings)
        self._waker = LocalWaker()
        self._mcp = McpServers(self._loaded.settings.mcp)
        self._worker = WorkerEngine(
            self._loaded,
            self._stores,
            self._waker,
            WorkerState(grace_seconds=30),
            WorkerId("test/1/a"),
            default_model="offline/script",
            plugins=_plugins(tools, self._loaded),
            mcp=self._mcp,
        )
        self._intake = intake_of(self._stores, self._waker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._mcp.stop()
        self._redis.close()

    @property
    def workspace(self) -> Path:
        """The directory of the agent's files."""
        return self._worker.agents.workspace("main")

    def run(self, *steps: Step) -> Turn:
        """One turn, in which the model answers with these steps, one after the other."""
        return self.say(json.dumps({"steps": [_step(each) for each in steps]}))

    def say(self, text: str) -> Turn:
        """One turn with a message of the owner. `offline/script` expects a program; other models any text."""
        entries = self._stores.reader.transcript(SESSION)
        queued = self._intake.accept(text, session=SESSION, route=Route(channel="cli"), authority=Authority.OWNER)
        if not isinstance(queued, Queued):
            raise BadInput(f"the message was not accepted: {queued}")
        while self._waker.turns:
            self._worker.runner.run(*self._waker.turns.pop(0))
        return self._turn(queued, skipped=len(entries))

    def _turn(self, queued: Queued, *, skipped: int) -> Turn:
        receipt = self._stores.inbox.receipt(queued.session_key, queued.message_id)
        run = self._stores.reader.run((receipt and receipt.run) or RunId(""))
        transcript = self._stores.reader.transcript(SESSION)
        results = [
            ToolResult(entry.text, entry.is_error, entry.files)
            for entry in transcript[skipped:]
            if isinstance(entry, ToolResultEntry)
        ]
        return Turn((run and run.text) or "", results, transcript)


def run_turn(
    *steps: Step,
    tools: Sequence[FunctionTool[..., Any]] | ModuleType = (),
    config: Mapping[str, Any] | None = None,
    directory: Path | None = None,
) -> Turn:
    """One turn of a new agent, in which the model answers with these steps: texts and tool calls.

    Raises:
        ConfigurationError, BadInput: as `Engine`.
    """
    with Engine(tools, config=config, directory=directory) as engine:
        return engine.run(*steps)


def _step(step: Step) -> Json:
    if isinstance(step, str):
        return {"text": step}
    return {"calls": [step] if isinstance(step, dict) else list(step)}


def _memory_redis() -> Any:
    try:
        import fakeredis  # noqa: PLC0415 - optional
    except ImportError as error:
        hint = "pip install 'openclaw-workers[testing]'"
        raise BadInput("openclaw_workers.testing needs fakeredis", hint=hint) from error
    return fakeredis.FakeRedis(decode_responses=True)


def _load(directory: Path, config: Mapping[str, Any]) -> Loaded:
    path = directory / "openclaw.yaml"
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"messages": {"queue": {"debounceMs": 0}}, **config}), encoding="utf-8")
    return load(path, env={"HOME": str(directory)}, cwd=directory, state_dir=directory / "state")


def _plugins(tools: Sequence[FunctionTool[..., Any]] | ModuleType, loaded: Loaded) -> Plugins:
    settings = loaded.settings.plugins
    limits = PluginLimits(settings.timeout_seconds, settings.max_output)
    given = tools if isinstance(tools, ModuleType) else list(tools)
    plugin = plugin_of("test", given, limits, reserved_names())
    if plugin.problems:
        raise BadInput("; ".join(plugin.problems))
    return Plugins((plugin,))
