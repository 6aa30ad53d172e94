"""How a command ended, in words."""

from __future__ import annotations

import signal

from openclaw_workers.tools.shell.holder.spec import Exit


def ending_text(ended: Exit) -> str:
    """`exit code 0`, `ended by SIGKILL`, or why it was ended."""
    if ended["reason"] == "timed out":
        return "ended by its time limit"
    if ended["reason"] == "disk limit":
        return "ended because it filled its sandbox's disk"
    code = ended["code"]
    how = f"exit code {code}" if code >= 0 else f"ended by {signal_name(-code)}"
    return f"killed, {how}" if ended["reason"] == "killed" else how


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
