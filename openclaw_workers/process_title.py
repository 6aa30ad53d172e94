"""What `ps` shows of a process."""

from __future__ import annotations

from setproctitle import setproctitle


def set_title(title: str) -> None:
    setproctitle(title)
