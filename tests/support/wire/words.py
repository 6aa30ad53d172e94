"""The end of a request's newest message, for all three APIs."""

from __future__ import annotations

from typing import Any

from tests.support.wire.server import Recorded

LINE = "[Runtime: "


def worker_line(request: Recorded) -> str:
    """The worker's line at the end of the newest message, or ""."""
    content = _newest(request).get("content") or ""
    text = content if isinstance(content, str) else str(content[-1].get("text", ""))
    start = text.rfind(LINE)
    return text[start:] if start >= 0 else ""


def newest_text(request: Recorded) -> str:
    """The last part of the newest message, without the worker's line; "" for a tool result."""
    message, line = _newest(request), worker_line(request)
    content = message.get("content") or ""
    if message.get("role") == "tool":
        return ""
    if isinstance(content, str):
        return content.removesuffix(line).removesuffix("\n\n") if line else content
    parts = content[:-1] if line else content
    return str(parts[-1].get("text", ""))


def _newest(request: Recorded) -> dict[str, Any]:
    messages: list[dict[str, Any]] = request.body.get("messages") or request.body["input"]
    return messages[-1]
