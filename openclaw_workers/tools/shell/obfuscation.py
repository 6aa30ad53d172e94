"""Commands that hide what they run. They are denied wherever commands are checked, whatever the allow-list says."""

from __future__ import annotations

import re
from typing import Final

_SHELL: Final = r"(?<![\w.-])(?:ba|z|da|k|a|fi|c|tc)?sh\b"
_DIRECTORY: Final = r"(?:[\w./-]{0,100}/)?"
_INTO: Final = rf"\|&?\s*(?:{_DIRECTORY}(?:env|sudo|exec|command|nohup)\s+){{0,5}}{_DIRECTORY}"
_INTO_SHELL: Final = _INTO + _SHELL
_INTERPRETER: Final = r"\b(?:python[0-9.]*|perl|ruby|node|php)\b"
_DOWNLOAD: Final = r"\b(?:curl|wget|aria2c)\b"
_DECODE: Final = r"\b(?:base64|base32|openssl\s+(?:enc|base64)|xxd|uudecode|gunzip|zcat|rev|tr)\b"
_OPTIONS: Final = r"\s+(?:-\w+\s+)*"

# Each is a row of expressions that are found one after the other. That takes linear time; one expression with gaps
# between its parts would not, and a model chooses the text.
_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "decoded base64 runs in a shell": (r"\bbase(?:64|32)\b", r"\s(?:-d|-D|--decode)\b", _INTO_SHELL),
    "decoded hexadecimal text runs in a shell": (r"\bxxd\b", r"\s-\w*r", _INTO_SHELL),
    "printed escapes run in a shell": (r"\b(?:printf|echo)\b", r"\\(?:x[0-9a-fA-F]|[0-7]{2})", _INTO_SHELL),
    "text that was decoded runs in a shell": (_DECODE, _INTO_SHELL),
    "a download runs in a shell": (_DOWNLOAD, _INTO_SHELL),
    "a download runs in an interpreter": (_DOWNLOAD, _INTO + _INTERPRETER),
    "a shell runs what a substitution gives": (_SHELL + _OPTIONS + r"[\"']?(?:\$\(|`)",),
    "a shell reads a process substitution": (_SHELL + _OPTIONS + r"<\(",),
    "a substitution is sourced": (r"(?:^|[\s;&|])(?:source|\.)\s+(?:<\(|\"?\$\(|`)",),
    "eval runs what is decoded or downloaded": (r"\beval\b", f"{_DECODE}|{_DOWNLOAD}"),
    "eval runs what a substitution or variable gives": (r"\beval\b[^\n;|&]{0,200}[$`]",),
    "a shell reads a here-document": (_SHELL + r"[^\n|;&]{0,200}<<",),
    "a word is written in hexadecimal escapes": (r"\$'[^']{0,500}\\x[0-9a-fA-F]{2}",),
    "a word is written in octal escapes": (r"\$'[^']{0,500}\\[0-3]?[0-7]{2}",),
    "an interpreter runs decoded text": (
        _INTERPRETER + r"\s+-\w*[ceEr]",
        r"b64decode|base64|fromhex|unhexlify|decode\(|atob|Buffer\.from|pack\(",
    ),
    "the program is put together from variables": (r"(?:^|[;&|\n])\s*(?:\$\w+|\$\{\w+\})(?:\$\w+|\$\{\w+\})",),
}
_COMPILED: Final = {why: tuple(map(re.compile, row)) for why, row in _PATTERNS.items()}


def obfuscation(command: str) -> str | None:
    """Why a command counts as obfuscated; None if it does not."""
    # A shell joins continued lines before it reads words, so a name may be split over two of them.
    joined = command.replace("\\\n", "")
    return next((why for why, row in _COMPILED.items() if _found(row, joined)), None)


def _found(row: tuple[re.Pattern[str], ...], text: str) -> bool:
    at = 0
    for expression in row:
        found = expression.search(text, at)
        if found is None:
            return False
        at = found.end()
    return True
