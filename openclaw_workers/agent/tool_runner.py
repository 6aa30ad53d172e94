"""Run tool calls and turn every outcome, also a crash, into text for the model and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from openclaw_workers.agent.prompt import texts
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.transcript import ContentBlock, FileBlock, ImageBlock, TextBlock, ToolCallBlock
from openclaw_workers.domain.untrusted import neutralise, wrap
from openclaw_workers.errors import LeaseLost, StoreUnavailable, ToolError, TurnEnded
from openclaw_workers.redaction import mask_known
from openclaw_workers.tools.aliases import arguments, canonical
from openclaw_workers.tools.base import Tool, ToolAnswer, ToolContext, TrustedText
from openclaw_workers.tools.output_limit import FRAME_BYTES, MAX_OUTPUT_BYTES, limit_text

log = structlog.get_logger(__name__)

_PATH_ARGUMENTS = frozenset({"path", "file_path", "workdir"})
NOT_TOOL_FAILURES = (TurnEnded, LeaseLost, StoreUnavailable)
"""These end the turn here. Without Redis nobody knows whether a call took effect; the next owner decides."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call: first what the runtime or our tool says, then third-party output, then files."""

    text: str = ""
    output: str = ""
    source: str = ""
    failed: bool = False
    files: tuple[ImageBlock | FileBlock, ...] = ()

    @property
    def plain(self) -> str:
        """For people."""
        files = (file.text for file in self.files)
        return "\n".join(part for part in (self.text, self.output, *files) if part)

    @property
    def quoted(self) -> str:
        """For the model."""
        quotation = wrap(self.output, self.source) if self.output else ""
        return "\n".join(part for part in (self.text, quotation) if part)


def run_call(call: ToolCallBlock, tools: Mapping[str, Tool[Any]], ctx: ToolContext) -> ToolOutcome:
    tool = tools.get(canonical(call.name))
    try:
        if tool is None:
            raise ToolError(texts.NO_SUCH_TOOL.format(name=call.name, tools=", ".join(sorted(tools)) or "none"))
        args = tool.parse(on_host(arguments(call.name, call.arguments), ctx))
        return as_inside(_returned(tool, args, tool.run(args, ctx)), ctx)
    except NOT_TOOL_FAILURES:
        raise
    except Exception as error:  # noqa: BLE001 - the model learns of a crashed tool as of any failure
        return as_inside(_failed(call, error), ctx)


def on_host(given: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """A sandboxed session names its workspace as its commands see it; tools find files below the one on the host."""
    inside = ctx.shown_workspace
    if not inside:
        return given
    changed = {}
    for name, value in given.items():
        if name in _PATH_ARGUMENTS and isinstance(value, str) and f"{value}/".startswith(f"{inside}/"):
            changed[name] = value[len(inside) :].lstrip("/") or "."
    return {**given, **changed}


def as_inside(outcome: ToolOutcome, ctx: ToolContext) -> ToolOutcome:
    """The outcome without the path on the host, which a sandboxed session must not learn."""
    host = str(ctx.workspace)
    if ctx.sandbox is None or host not in outcome.text + outcome.output:
        return outcome
    text, output = (each.replace(host, ctx.shown_workspace) for each in (outcome.text, outcome.output))
    return replace(outcome, text=text, output=output)


def run_batch(tool: Tool[Any], calls: Sequence[tuple[ToolCallBlock, ToolContext]]) -> list[ToolOutcome]:
    """Run several calls of one tool as one operation; a call with wrong arguments fails alone."""
    outcomes: dict[str, ToolOutcome] = {}
    good = []
    for call, ctx in calls:
        try:
            good.append((call, tool.parse(call.arguments), ctx))
        except ToolError as error:
            outcomes[call.id] = _failed(call, error)
    try:
        answers = tool.run_batch([(args, ctx) for _, args, ctx in good]) if good else []
        outcomes |= {call.id: _returned(tool, args, each) for (call, args, _), each in zip(good, answers, strict=True)}
    except NOT_TOOL_FAILURES:
        raise
    except Exception as error:  # noqa: BLE001
        # The calls were one operation, so nobody knows which of them failed.
        failure = _failed(good[0][0], error)
        outcomes |= {call.id: failure for call, _, _ in good}
    return [outcomes[call.id] for call, _ in calls]


def _returned(tool: Tool[Any], args: Any, answer: ToolAnswer) -> ToolOutcome:
    text, files = (answer, ()) if isinstance(answer, str) else _split(answer)
    # Tools limit their own output. This catches those that do not, with room for what they say around it.
    shown = limit_text(mask_known(replace_surrogates(text)), tool.max_output_bytes + FRAME_BYTES)
    if tool.is_result_untrusted(args) and not isinstance(answer, TrustedText):
        return ToolOutcome(output=shown, source=f"tool {tool.name}", files=files)
    return ToolOutcome(shown, failed=tool.is_refusal(text), files=files)


def _split(blocks: Sequence[ContentBlock]) -> tuple[str, tuple[ImageBlock | FileBlock, ...]]:
    """The text of the blocks, and their files."""
    text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    return text, tuple(block for block in blocks if not isinstance(block, TextBlock))


def _failed(call: ToolCallBlock, error: Exception) -> ToolOutcome:
    if isinstance(error, ToolError):
        output = limit_text(mask_known(replace_surrogates(error.output)), MAX_OUTPUT_BYTES + FRAME_BYTES)
        return ToolOutcome(
            # The message is not quoted, and may repeat text from outside. It must not be able to forge our markers.
            neutralise(mask_known(replace_surrogates(error.message))),
            output,
            source=f"tool {canonical(call.name)}",
            failed=True,
        )
    log.error("tool.broken", tool=call.name, call_id=call.id, exc_info=error)
    message = texts.TOOL_BROKEN.format(name=call.name, error=f"{type(error).__name__}: {error}")
    return ToolOutcome(neutralise(mask_known(replace_surrogates(message))), failed=True)
