"""The text of a PDF, a few pages at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.files import pdf_script
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES, limit_text

MAX_PAGES = 20
"""In one call."""
_SECONDS = 30.0
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def page_numbers(pages: str | None) -> list[int]:
    """Read a list of pages such as `3`, `1-5` or `2,4-6`; unset means the first ones.

    Raises:
        ToolError: it is not a list of pages, or too long.
    """
    if pages is None:
        return list(range(1, MAX_PAGES + 1))
    numbers: list[int] = []
    for part in pages.replace(" ", "").split(","):
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise ToolError(f"pages is {pages!r}; expected a page such as '3' or a range such as '1-5'")
        if last - first >= MAX_PAGES or len(numbers) + last - first >= MAX_PAGES:
            raise ToolError(f"pages {pages!r} are too many; at most {MAX_PAGES} can be read at once")
        numbers += range(first, last + 1)
    return numbers


def read_pdf(fd: int, shown: str, pages: str | None, *, cancel: Cancel, timeout_seconds: float) -> str | None:
    """The text of these pages, with headings; None if there is no text, as in a scan.

    Raises:
        ToolError: the PDF cannot be read, or has no such page.
    """
    wanted, seconds = page_numbers(pages), min(_SECONDS, timeout_seconds)
    request = {"fd": fd, "pages": wanted, "max_bytes": MAX_OUTPUT_BYTES}
    try:
        found = run_isolated(
            pdf_script.__file__,
            request,
            cancel=cancel,
            timeout_seconds=seconds,
            pass_fds=(fd,),
            with_packages=True,
        )
    except ToolTimedOut:
        raise ToolTimedOut(f"{shown} could not be read within {seconds:g} s; ask for fewer pages") from None
    except ToolError as error:
        raise ToolError(f"{shown}: {error.message}") from error
    if not found["pages"]:
        raise ToolError(f"{shown} has {found['total']} pages; there is no page {wanted[0]}")
    return _format(found, wanted) if any(page["text"] for page in found["pages"]) else None


def _format(found: dict[str, Any], wanted: Sequence[int]) -> str:
    read, total = [page["number"] for page in found["pages"]], found["total"]
    text = "\n\n".join(f"--- page {page['number']} of {total} ---\n{page['text']}" for page in found["pages"])
    left = [number for number in wanted if number not in read and number <= total]
    following = left[0] if left else read[-1] + 1 if read[-1] < total else 0
    if not following:
        return limit_text(text)
    last = min(total, following + MAX_PAGES - 1)
    return f"{limit_text(text)}\n[more follows: continue with pages={following}-{last}]"
