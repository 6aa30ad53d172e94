"""Turn an HTML page into Markdown or text. `extract` runs this file isolated: a page may take any time and memory.

It imports nothing of ours. trafilatura takes a fifth of a second to load, and no worker has to.
"""

from __future__ import annotations

import logging
from typing import Any

MEMORY_BYTES = 1024 * 1024 * 1024
TOO_MUCH_MEMORY = "the page needs too much memory to be read"
_LEAST_CHARS = 100
"""A shorter result may have missed the page: then all of its text is taken."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    import trafilatura  # noqa: PLC0415 (after the limits are set)

    logging.disable()
    with open(request["fd"], "rb") as file:
        html = file.read()
    tree = trafilatura.load_html(html)
    if tree is None:  # empty, or no HTML in spite of what it says it is
        return {"title": "", "text": html.decode("utf-8", "replace")[: request["max_chars"]]}
    title = " ".join((tree.findtext(".//title") or "").split())
    is_markdown = request["mode"] == "markdown"
    text = trafilatura.extract(
        html,
        url=request["url"],
        output_format="markdown" if is_markdown else "txt",
        include_comments=False,
        include_tables=True,
        include_links=is_markdown,
    )
    if text is None or len(text) < _LEAST_CHARS:
        everything = trafilatura.html2txt(html)
        text = everything if len(everything) > len(text or "") else text
    return {"title": title[:500], "text": (text or "")[: request["max_chars"]]}
