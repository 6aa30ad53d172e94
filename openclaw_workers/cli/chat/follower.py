"""Follows a session in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from openclaw_workers.client.protocol import Quiet
from openclaw_workers.errors import OpenClawError

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.protocol import Backend
    from openclaw_workers.cli.chat.actions import Report
    from openclaw_workers.cli.chat.view import SessionView
    from openclaw_workers.client.follow_session import SessionFeed

BLOCK_MS = 250
"""How long a read waits for events; so long takes leaving."""
LEAVE_SECONDS = 2.0


class Follower:
    """Reads with a backend of its own: one thread may not use that of another."""

    def __init__(self, backend: Backend, feed: SessionFeed, view: SessionView, report: Report) -> None:
        self._backend = backend
        self._feed = feed
        self._view = view
        self._report = report
        self._is_left = threading.Event()
        # A daemon: a read that hangs must not keep the program from ending.
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Show nothing more. A read that does not return keeps its thread."""
        self._is_left.set()
        self._thread.join(LEAVE_SECONDS)

    def _follow(self) -> None:
        try:
            for update in self._backend.conversations.follow(self._feed.steps()):
                if self._is_left.is_set():
                    break
                if not isinstance(update, Quiet):
                    self._view.show(update)
        except OpenClawError as error:
            self._report(f"this session is no longer followed: {error.message}", error.hint)
        except Exception as error:  # noqa: BLE001 - nobody above this thread would say so
            self._report(f"this session is no longer followed: unexpected {type(error).__name__}: {error}", None)
        finally:
            self._backend.close()
