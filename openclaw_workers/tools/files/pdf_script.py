"""Extract the text of a PDF, page by page. `pdf` runs this file as a script: a document may take any time and memory.

It imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from typing import Any

_MEMORY_BYTES = 1024 * 1024 * 1024


def _extract(request: dict[str, Any]) -> dict[str, Any]:
    from pypdf import PdfReader  # noqa: PLC0415 (after the limits are set)

    logging.disable()  # it warns about every fault of a document
    try:
        reader = PdfReader(open(request["fd"], "rb"))  # noqa: SIM115 (it is read until the end of this process)
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


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    # If the worker dies, nobody else would end this process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(request["timeout_seconds"]) + 2)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    try:
        answer = _extract(request)
    except (MemoryError, RecursionError):
        answer = {"error": "the PDF needs too much memory to be read"}
    with os.fdopen(1, "wb") as output:
        output.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
