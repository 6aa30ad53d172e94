"""Reading lines of a memory file, inside the memory paths and the scopes of the reader."""

from __future__ import annotations

from typing import Any

from openclaw_workers.errors import NotFound
from openclaw_workers.memory.files import MemoryRoots, find_file, read_text, scope_of_file
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.redaction import mask_known

MAX_CHARS = 20_000
ALLOWED = "expected MEMORY.md or a .md file in memory/, as memory_search names it"


def read_lines(
    roots: MemoryRoots, visible: Visibility, path: str, *, first: int | None = None, count: int | None = None
) -> dict[str, Any]:
    """The lines, bounded in size.

    Raises:
        NotFound: there is no such file, or it must not be seen; the message does not say which.
    """
    file = find_file(roots, path)
    text = read_text(file) if file else ""
    if file is None or not visible.sees(scope_of_file(file.path, text)):
        raise NotFound(f"{path!r} is not a memory file that can be read here; {ALLOWED}")
    lines = text.splitlines()
    start = min(first or 1, len(lines) + 1)
    end = len(lines) if count is None else min(len(lines), start + count - 1)
    shown = mask_known("\n".join(lines[start - 1 : end]))
    answer: dict[str, Any] = {"path": file.path, "text": shown[:MAX_CHARS], "from": start, "totalLines": len(lines)}
    if len(shown) > MAX_CHARS:
        answer["truncated"] = f"the first {MAX_CHARS:,} of {len(shown):,} characters; ask for fewer lines"
    return answer
