"""A plugin's function as a tool of the agent: its input checked, its time and its output limited."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from openclaw_workers.domain.transcript import FileBlock, ImageBlock, TextBlock
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.base import Tool, ToolAnswer, ToolContext, ToolInput, ToolSource
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES
from openclaw_workers.tools.plugins.call_context import call_context
from openclaw_workers.tools.plugins.function_runner import FunctionRunner
from openclaw_workers.tools.plugins.function_tool import FunctionTool
from openclaw_workers.tools.schemas import portable_schema
from openclaw_workers.tools.wait_for_result import wait_for_result

MOST_OVERDUE = 8
"""So many calls of a plain function may go on after their time is up; then no more are started."""
NO_ANSWER = "(done; it returned nothing)"

Block = TextBlock | ImageBlock | FileBlock


@dataclass(frozen=True, slots=True)
class PluginLimits:
    """The limits of tools that set none themselves."""

    timeout_seconds: float = 60
    max_output_bytes: int = MAX_OUTPUT_BYTES


class PluginTool(Tool[ToolInput]):
    def __init__(
        self, function: FunctionTool[..., Any], source: ToolSource, limits: PluginLimits, runner: FunctionRunner
    ) -> None:
        options = function.options
        self.name = options.name
        self.effect = options.effect
        self.input_type = function.parameters.input_type
        self.source = source
        self.groups = source.groups
        self.max_output_bytes = options.max_output_bytes or limits.max_output_bytes
        self._function = function
        self._seconds = options.timeout_seconds or limits.timeout_seconds
        self._runner = runner
        self._lock = threading.Lock()
        self._overdue = 0

    def description(self) -> str:
        return self._function.options.description

    def input_schema(self) -> dict[str, Any]:
        return portable_schema(super().input_schema()).schema

    def is_result_untrusted(self, args: ToolInput) -> bool:
        return self._function.options.is_untrusted

    def run(self, args: ToolInput, ctx: ToolContext) -> ToolAnswer:
        # Each overdue call still holds a thread, and nobody can end it.
        if self._overdue >= MOST_OVERDUE:
            raise ToolError(f"{self.name} is still busy with {self._overdue} earlier calls whose time was up")
        seconds = min(self._seconds, ctx.timeout_seconds)
        given = self._function.keyword_arguments(args, call_context(ctx, seconds))
        if self._function.is_async:
            future = self._runner.start_coroutine(self._function.function(**given))
        else:
            future = self._runner.start_thread(self.name, lambda: self._function.function(**given))
        try:
            return _answer(wait_for_result(future, ctx.cancel, seconds=seconds, name=self.name))
        except ToolTimedOut:
            self._count_overdue(future)
            raise

    def _count_overdue(self, future: Future[Any]) -> None:
        if self._function.is_async:  # it was cancelled
            return
        with self._lock:
            self._overdue += 1
        future.add_done_callback(lambda _: self._forget_overdue())

    def _forget_overdue(self) -> None:
        with self._lock:
            self._overdue -= 1


def _answer(value: Any) -> ToolAnswer:
    """What the model reads: texts and blocks as they are, everything else as JSON."""
    if value is None:
        return NO_ANSWER
    if isinstance(value, str):
        return value
    if isinstance(value, Block):
        return [value]
    if isinstance(value, Sequence) and value and all(isinstance(each, Block) for each in value):
        return list(value)
    # A plugin may return anything. What JSON cannot express is shown as text instead of failing the call.
    return to_json(value, fallback=str, inf_nan_mode="strings").decode()
