"""What the session tools share."""

from __future__ import annotations

import json

from openclaw_workers.tools.base import InputT, Tool, ToolContext
from openclaw_workers.tools.context import require
from openclaw_workers.tools.sessions.port import SessionPort


class SessionTool(Tool[InputT]):
    """A tool whose results are JSON objects with a status."""

    max_output_bytes = 256 * 1024
    """More than the port returns: JSON that is cut cannot be read."""

    def is_refusal(self, answer: str) -> bool:
        return json.loads(answer)["status"] in ("error", "forbidden")


def port_of(ctx: ToolContext) -> SessionPort:
    """The session port of a call.

    Raises:
        ToolError: there is no port, because the call runs outside a worker.
    """
    return require(ctx.sessions, "there are no other sessions here")
