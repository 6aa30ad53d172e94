"""Extract the text of a PDF, page by page. `pdf` runs this file isolated: a document may take any time and memory.

It imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import logging
from typing import Any

MEMORY_BYTES = 1024 * 1024 * 1024
TOO_MUCH_MEMORY = "the PDF needs too much memory to be read"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    from pypdf import PdfReader  # noqa: PLC0415 (after the limits are set)

    logging.disable()  # it warns about every fault of a document
    try:
        reader = PdfReader(open(request["fd"], "rb"))  # noqa: SIM115 (it is read until the end of this process)
        # Many PDFs are encrypted only to forbid printing, and open with an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "the PDF is protected by a password"}
        total = len(reader.pages)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (broken documents raise anything)
        return {"error": f"the PDF cannot be read: {type(error).__name__}: {error}"}
    pages: list[dict[str, Any]] = []
    room = request["max_bytes"]
    for number in request["pages"]:
        if number > total or room <= 0:
            break
        text = _page_text(reader, number)
        room -= len(text.encode(errors="replace"))
        pages.append({"number": number, "text": text})
    return {"total": total, "pages": pages}


def _page_text(reader: Any, number: int) -> str:
    try:
        return str(reader.pages[number - 1].extract_text()).strip()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (one broken page must not hide the others)
        return f"[page {number} cannot be read: {type(error).__name__}]"
