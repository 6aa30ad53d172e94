"""The tools of the plugin. Workers import this module, because the entry point in pyproject.toml names it."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from openclaw_workers import CallContext, ToolError, tool


@tool(effect="none")
def count_words(
    text: Annotated[str, "The text to look at"],
    most: Annotated[int, Field(description="How many words to return", ge=1, le=100)] = 10,
) -> dict[str, int]:
    """Count how often each word occurs in a text. Returns the most frequent words."""
    return dict(Counter(text.lower().split()).most_common(most))


@tool(effect="idempotent", timeout_seconds=20)
def save_note(title: str, text: str, context: CallContext) -> str:
    """Save a note as a file in the workspace."""
    if "/" in title or title.startswith("."):
        raise ToolError(f"{title!r} is not a title: expected words without slashes")
    context.progress(f"saving {title}")
    folder = context.workspace / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{title}.md").write_text(text, encoding="utf-8")
    return f"saved notes/{title}.md"


@tool(effect="none", timeout_seconds=5)
async def wait_a_little(seconds: Annotated[float, Field(ge=0, le=60)], unit: Literal["s", "ms"] = "s") -> str:
    """Wait, without keeping a thread busy."""
    await asyncio.sleep(seconds if unit == "s" else seconds / 1000)
    return "done"


@tool(effect="none")
def draw_square(red: int, green: int, blue: int, context: CallContext) -> list[object]:
    """Draw a small square of one colour."""
    row = b"\0" + bytes((red % 256, green % 256, blue % 256)) * 8
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(row * 8)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return [context.file("square.png", png)]
