"""The size of a system prompt, part by part, for people who ask what fills the window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.agent.prompt.sections import PromptPart
from openclaw_workers.agent.prompt.workspace_files import ContextFile
from openclaw_workers.domain.tool_spec import ToolSpec


def prompt_report(
    parts: Sequence[PromptPart], files: Sequence[ContextFile], specs: Sequence[ToolSpec], *, model: str, window: int
) -> dict[str, Any]:
    """As it is stored with the session. Tokens are estimates."""
    estimator = _estimator(model)
    listed = [{"name": spec.name, "chars": _spec_chars(spec), "tokens": estimator.frame("", [spec])} for spec in specs]
    return {
        "model": model,
        "window": window,
        "parts": part_sizes(parts, model),
        "files": [{"name": each.name, "chars": each.chars, "shown": min(each.chars, len(each.text))} for each in files],
        "tools": {
            "count": len(specs),
            "chars": sum(map(_spec_chars, specs)),
            "tokens": estimator.frame("", specs),
            "list": listed,
        },
    }


def _spec_chars(spec: ToolSpec) -> int:
    return len(f"{spec.name} {spec.description} {json.dumps(spec.input_schema)}")


def part_sizes(parts: Sequence[PromptPart], model: str) -> list[dict[str, Any]]:
    tokens = _estimator(model).text
    return [{"name": each.name, "chars": len(each.text), "tokens": tokens(each.text)} for each in parts]


def stored(report: dict[str, Any]) -> str:
    return json.dumps(report, separators=(",", ":"))


def _estimator(model: str) -> Estimator:
    provider, _, name = model.partition("/")
    return Estimator(provider, name, Calibration())
