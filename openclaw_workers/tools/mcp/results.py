"""What an MCP tool returned, as an answer of ours: texts, images and files."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from pathlib import Path
from typing import Any

from openclaw_workers.domain.transcript import ContentBlock, TextBlock
from openclaw_workers.tools.media import store_file

MOST_FILES = 10
NOTHING = "(the tool returned nothing)"


def answer_blocks(result: Any, workspace: Path, tool: str) -> list[ContentBlock]:
    """The blocks of a `CallToolResult`. Images and files are stored in the workspace.

    Raises:
        ToolError: the workspace cannot take a file.
    """
    blocks: list[ContentBlock] = []
    files = 0
    for item in result.content:
        data, kind = _file_of(item)
        if data is None:
            blocks.append(TextBlock(text=_text_of(item)))
        elif files >= MOST_FILES:
            blocks.append(TextBlock(text=f"[a further file of type {kind} is left out]"))
        elif content := _decoded(data):
            files += 1
            name = f"{tool}-{files}{mimetypes.guess_extension(kind) or '.bin'}"
            blocks.append(store_file(workspace, name, content))
        else:
            blocks.append(TextBlock(text=f"[a file of type {kind} could not be decoded]"))
    # Servers are asked to repeat structured content as text, so it is shown only if there is none.
    structured = getattr(result, "structured_content", None)
    if structured is not None and not any(isinstance(block, TextBlock) for block in blocks):
        blocks.insert(0, TextBlock(text=json.dumps(structured, ensure_ascii=False, default=str)))
    return blocks or [TextBlock(text=NOTHING)]


def texts_of(result: Any) -> str:
    """All text of a result, for an error."""
    return "\n".join(_text_of(item) for item in result.content if _file_of(item)[0] is None)


def _file_of(item: Any) -> tuple[str | None, str]:
    """The base64 text of an image, a sound or an embedded file, and its type."""
    if item.type in ("image", "audio"):
        return item.data, item.mime_type
    if item.type == "resource" and (blob := getattr(item.resource, "blob", None)) is not None:
        return blob, item.resource.mime_type or "application/octet-stream"
    return None, ""


def _text_of(item: Any) -> str:
    if item.type == "text":
        return str(item.text)
    if item.type == "resource":
        return f"[{item.resource.uri}]\n{getattr(item.resource, 'text', '')}"
    if item.type == "resource_link":
        about = f": {item.description}" if item.description else ""
        return f"[{item.name} {item.uri}{about}]"
    return f"[content of type {item.type}]"


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""
