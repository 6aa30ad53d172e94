"""Builders for `offline/script` programs; see docs/offline-models.md."""

from __future__ import annotations

import json
import shlex
from typing import Any

Program = dict[str, Any]
Step = dict[str, Any]
Call = dict[str, Any]


def program(*steps: Step) -> Program:
    return {"steps": list(steps)}


def say(text: str, *, delay_ms: int = 0) -> Step:
    """A final answer."""
    return {"text": text, "delayMs": delay_ms}


def call(*calls: Call, text: str = "", delay_ms: int = 0) -> Step:
    """A step that uses tools."""
    return {"text": text, "delayMs": delay_ms, "calls": list(calls)}


def crash(*, delay_ms: int = 0, text: str = "") -> Step:
    """A step that kills its worker on every try."""
    return {"text": text, "delayMs": delay_ms, "fail": "crash"}


def execute(command: str) -> Call:
    return {"tool": "exec", "input": {"command": command}}


def mark(path: str, *, then: str = "") -> Call:
    """Append a line to a file of the workspace, so that a test can count how often the call ran."""
    command = f"echo run >> {shlex.quote(path)}"
    return execute(f"{command}; {then}" if then else command)


def write(path: str, content: str) -> Call:
    return {"tool": "write", "input": {"path": path, "content": content}}


def as_text(message: str | Program) -> str:
    return message if isinstance(message, str) else json.dumps(message)


def spawn(*tasks: str | Program, text: str = "", **more: Any) -> Step:
    """A step that spawns a sub-agent per task, as one batch; a task may be a program itself."""
    return call(*({"tool": "sessions_spawn", "input": {"task": as_text(task), **more}} for task in tasks), text=text)
