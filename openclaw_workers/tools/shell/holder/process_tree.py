"""All processes below this one. As their reaper we find also those that left their group or their parent."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from signal import Signals

_PR_SET_CHILD_SUBREAPER = 36


def become_reaper() -> None:
    """Linux gives us every process below us whose parent has ended."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def signal_tree(leader: int, number: Signals) -> bool:
    """Signal everything below this process; return whether there was anything. `leader` is the first command."""
    try:
        below = descendants()
    except OSError:  # no /proc: the command's group is all that can be reached
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)
        return False
    for pid in below:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    return bool(below)


def descendants() -> list[int]:
    """Processes below this one that have not ended.

    Raises:
        OSError: the system has no /proc.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # The name before it may itself contain spaces and parentheses.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            # A zombie cannot be killed; counting it would make the caller wait for nothing.
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
