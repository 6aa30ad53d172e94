"""`message`: write to chats, and change, remove or react to messages there."""

from __future__ import annotations

from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.media_types import SNIFFED_BYTES, media_type
from openclaw_workers.domain.outgoing import MAX_FILE_BYTES
from openclaw_workers.errors import OpenClawError, ToolError
from openclaw_workers.file_access import open_regular_file
from openclaw_workers.tools.base import Effect, Tool, ToolContext
from openclaw_workers.tools.context import require
from openclaw_workers.tools.files.paths import locate, os_errors_as_tool_errors
from openclaw_workers.tools.messaging.inputs import MessageInput
from openclaw_workers.tools.messaging.port import FileToSend


class Message(Tool[MessageInput]):
    """Write to the chat of this session, or to another one, besides your answer: send or reply with text, files and
    buttons; edit, delete or react to a message; create a topic. Your final answer goes to the chat by itself, so do not
    send it with this tool too."""

    name = "message"
    effect = Effect.IDEMPOTENT
    input_type = MessageInput

    def run(self, args: MessageInput, ctx: ToolContext) -> str:
        chats = require(ctx.messages, "there are no chats here")
        files = [_load(ctx, named) for named in args.files]
        try:
            return chats.send(ctx.call_id, args, files)
        except ToolError:
            raise
        except OpenClawError as error:
            raise ToolError(error.message) from error


def _load(ctx: ToolContext, named: str) -> FileToSend:
    place = locate(ctx.workspace, named)
    with os_errors_as_tool_errors("send", place), open_regular_file(place.path) as opened:
        content = opened.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ToolError(f"{place.shown} is too large; at most {MAX_FILE_BYTES:,} bytes can be sent as one file")
    name = safe_file_name(place.parts[-1] if place.parts else named)
    return FileToSend(name, media_type(name, content[:SNIFFED_BYTES]), content)
