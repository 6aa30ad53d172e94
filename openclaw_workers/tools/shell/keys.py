"""Names of keys, as `process send-keys` takes them, and what a terminal sends for them."""

from __future__ import annotations

from typing import Final

from openclaw_workers.errors import ToolError

_NAMED: Final = {
    "enter": b"\r", "return": b"\r", "tab": b"\t", "escape": b"\x1b", "esc": b"\x1b", "space": b" ",
    "backspace": b"\x7f", "bspace": b"\x7f", "delete": b"\x1b[3~", "dc": b"\x1b[3~", "insert": b"\x1b[2~",
    "up": b"\x1b[A", "down": b"\x1b[B", "right": b"\x1b[C", "left": b"\x1b[D", "home": b"\x1b[H", "end": b"\x1b[F",
    "pageup": b"\x1b[5~", "pgup": b"\x1b[5~", "pagedown": b"\x1b[6~", "pgdn": b"\x1b[6~", "btab": b"\x1b[Z",
    "f1": b"\x1bOP", "f2": b"\x1bOQ", "f3": b"\x1bOR", "f4": b"\x1bOS", "f5": b"\x1b[15~", "f6": b"\x1b[17~",
    "f7": b"\x1b[18~", "f8": b"\x1b[19~", "f9": b"\x1b[20~", "f10": b"\x1b[21~", "f11": b"\x1b[23~", "f12": b"\x1b[24~",
}  # fmt: skip


def key_bytes(name: str) -> bytes:
    """What a key sends: a name (Enter, Up, F1), one character, or either with C-, M- or S- before it.

    Raises:
        ToolError: there is no such key.
    """
    if len(name) == 1:
        return name.encode()
    if (named := _NAMED.get(name.lower())) is not None:
        return named
    modifier, _, rest = name.partition("-")
    if modifier in ("C", "c", "Ctrl", "ctrl", "^") and len(rest) == 1 and "@" <= rest.upper() <= "_":
        # A terminal sends Ctrl with a letter as the lower five bits of its code.
        return bytes([ord(rest.upper()) & 0x1F])
    if name.startswith("^") and len(name) == 2 and "@" <= name[1].upper() <= "_":
        return bytes([ord(name[1].upper()) & 0x1F])
    if modifier in ("M", "m", "Alt", "alt") and rest:
        return b"\x1b" + key_bytes(rest)
    if modifier in ("S", "s", "Shift", "shift") and rest.lower() == "tab":
        return _NAMED["btab"]
    raise ToolError(f"there is no key {name!r}; expected names such as Enter, Tab, Escape, Up, F1, C-c or M-x")
