"""The readable part of a page, by its type."""

from __future__ import annotations

import json
import tempfile
from typing import Final

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.media_types import IMAGES, PDF, SNIFFED_BYTES, shown_media_type
from openclaw_workers.errors import ToolError, ToolTimedOut
from openclaw_workers.tools.files.isolated import run_isolated
from openclaw_workers.tools.files.pdf import read_pdf
from openclaw_workers.tools.web import extract_script
from openclaw_workers.tools.web.body import decode_body
from openclaw_workers.tools.web.http_fetch import Fetched
from openclaw_workers.tools.web.port import Mode, Page

KEPT_CHARS: Final = 1_000_000
"""Of a page's text; more is not kept in memory."""
_SECONDS: Final = 20.0
_HTML: Final = ("text/html", "application/xhtml+xml")
_TEXT: Final = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-ndjson",
    "image/svg+xml",
)


def read_page(fetched: Fetched, mode: Mode, *, cancel: Cancel) -> Page:
    """Raises ToolError if the page is not something that can be read."""
    declared = fetched.content_type.partition(";")[0].strip().lower()
    # Servers often declare images and PDFs wrongly, so their first bytes count more.
    kind = shown_media_type(fetched.data[:SNIFFED_BYTES]) or declared or _guess(fetched.data)
    page = Page(fetched.url, fetched.status, kind, is_cut=fetched.is_cut)
    if kind in IMAGES or kind == PDF:
        if fetched.is_cut:
            raise ToolError(f"{fetched.url} is a {kind} of more than {len(fetched.data):,} bytes and is not read")
        text = _pdf_text(fetched, cancel) if kind == PDF else ""
        return Page(page.url, page.status, kind, text=text, file=fetched.data)
    if kind in _HTML:
        title, text = _html(fetched, mode, cancel)
        return Page(page.url, page.status, kind, title, text, page.is_cut)
    if kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        text = decode_body(fetched.data, fetched.content_type)
        return Page(page.url, page.status, kind, "", _formatted(text, kind)[:KEPT_CHARS], page.is_cut)
    raise ToolError(
        f"{fetched.url} is a file of type {kind[:80]!r} with {len(fetched.data):,} bytes, not a page of text"
    )


def _guess(data: bytes) -> str:
    start = data[:1024].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return "application/octet-stream" if b"\0" in data[:1024] else "text/plain"


def _formatted(text: str, kind: str) -> str:
    if kind != "application/json" or len(text) > KEPT_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _html(fetched: Fetched, mode: Mode, cancel: Cancel) -> tuple[str, str]:
    with tempfile.TemporaryFile() as file:
        file.write(_as_utf8(fetched))
        file.seek(0)
        request = {"fd": file.fileno(), "mode": mode, "url": fetched.url, "max_chars": KEPT_CHARS}
        try:
            answer = run_isolated(
                extract_script.__file__,
                request,
                cancel=cancel,
                timeout_seconds=_SECONDS,
                pass_fds=(file.fileno(),),
                with_packages=True,
            )
        except ToolTimedOut:
            raise ToolTimedOut(f"{fetched.url} could not be turned into text within {_SECONDS:g} s") from None
    return answer["title"], answer["text"]


def _as_utf8(fetched: Fetched) -> bytes:
    """The page in UTF-8 if its header names another encoding; otherwise the page itself is asked."""
    if "charset" not in fetched.content_type.lower() or "utf-8" in fetched.content_type.lower():
        return fetched.data
    return decode_body(fetched.data, fetched.content_type).encode(errors="replace")


def _pdf_text(fetched: Fetched, cancel: Cancel) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(fetched.data)
        file.seek(0)
        return read_pdf(file.fileno(), fetched.url, None, cancel=cancel, timeout_seconds=_SECONDS) or ""
